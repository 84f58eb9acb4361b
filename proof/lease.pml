/*
 * One job between two workers, maintenance, an operator, a stranger's transaction and the clock: what each statement of the
 * store reads, waits for and writes, and nothing else. Spin visits every interleaving.
 *
 * `row_lock` is a lease's row that somebody has locked, or changed and not committed. A statement that skips locked rows passes it
 * by; one that waits takes it when it is free, and time goes on meanwhile. What stands in one atomic or d_step happens at once.
 *
 * A completion and a claim may share a statement and its commit. They need no step of their own here: the claim takes what was ready in
 * the snapshot in which the completion's job was leased, so it is another job's, and for one job each half is the step that it is alone.
 *
 * The invariants have the names of CONTEXT.md. Each is a variable that an assertion reads, so that Spin's report names it; but that no job
 * gets stuck is the search itself: Maintenance ends with the job, and a state in which nothing can happen any more and it has not is an error.
 * What a protocol that lacks one of its guards does instead stands in broken-variants.ts.
 */

#ifndef MAX_ATTEMPTS
#define MAX_ATTEMPTS 2
#endif
/* How many calls the workers make, of any kind and under any lease: a reply may be lost, and several be under way at once. */
#ifndef MAX_CALLS
#define MAX_CALLS 2
#endif
/* How many of them are made by the other worker, who has come by the token. */
#ifndef MAX_THEFTS
#define MAX_THEFTS 0
#endif
/* A claim that is undone costs no attempt, so it needs a bound of its own. */
#ifndef MAX_UNDONE
#define MAX_UNDONE 0
#endif
#ifndef MAX_FENCES
#define MAX_FENCES 0
#endif
#define MAX_CLAIMS 4

#define FREE 255
#define NOBODY 0
#define COMPLETE 1
#define FAIL 2
#define RENEW 3
#define REAP 4

/* The tables. */
bool in_ready = true;
bool in_lease = false;
bool in_outcome = false;
byte generation = 0;
byte attempt = 0;
byte token = NOBODY;
byte owner = NOBODY;
bool expired = false;
byte row_lock = FREE;
/* Who settled the job, as `ready` or `outcome` remember it; and as a lease keeps it for a claim that is undone. */
byte spent_token = NOBODY;
byte spent_owner = NOBODY;
byte spent_by = REAP;
byte kept_token = NOBODY;
byte kept_owner = NOBODY;
byte kept_by = REAP;

/* How often a bounded thing may still happen. */
byte calls = MAX_CALLS;
byte thefts = MAX_THEFTS;
byte undos = MAX_UNDONE;
byte fences = MAX_FENCES;

/* What no process can see. Every claim's token and owner, and whether the last one's answer reached its worker. */
byte claims = 0;
byte token_of[MAX_CLAIMS + 1];
byte owner_of[MAX_CLAIMS + 1];
bool received = false;
/* How many claims were taken back, and how many there were when all leases were voided. */
byte undone = 0;
byte fenced = 0;
/* The claim whose settlement was the last to be answered, and what that was; none after the next attempt is over. */
byte settled = 0;
byte settled_by = REAP;
byte highest = 0;
bool ended = false;
byte the_end = REAP;

bool one_place = true;
bool one_valid_lease = true;
bool proof_in_the_statement = true;
bool generations_grow = true;
bool terminal_is_terminal = true;
bool attempts_are_counted_when_handed_out = true;
bool an_answer_stands = true;
bool a_lost_reply_can_be_asked_for_again = true;
bool a_fence_voids_every_lease = true;

#define held_by(t, w) (in_lease && token == (t) && owner == (w))
#define valid(t, w) (held_by(t, w) && !expired)
#define spent_so(t, w, how) (!in_lease && spent_token == (t) && spent_owner == (w) && spent_by == (how))
#define opens(c) (claims >= (c) && in_lease && token == token_of[c] && owner == owner_of[c] && !expired)

/* The lease's row is gone. */
inline leave() {
  in_lease = false;
  token = NOBODY;
  owner = NOBODY;
  expired = false;
  kept_token = NOBODY;
  kept_owner = NOBODY;
  kept_by = REAP
}

/* After every write. */
inline check() {
  one_place = (in_ready + in_lease + in_outcome == 1);
  assert(one_place);
  one_valid_lease = (opens(1) + opens(2) + opens(3) + opens(4) <= 1);
  assert(one_valid_lease);
  generations_grow = (generation >= highest);
  assert(generations_grow);
  highest = generation;
  terminal_is_terminal = (!ended || (in_outcome && the_end == spent_by));
  assert(terminal_is_terminal);
  attempts_are_counted_when_handed_out = (attempt == claims - undone && attempt <= MAX_ATTEMPTS);
  assert(attempts_are_counted_when_handed_out);
  an_answer_stands = (settled == 0 || (in_lease && claims > settled) ||
    (!in_lease && spent_token == token_of[settled] && spent_owner == owner_of[settled] && spent_by == settled_by &&
      (in_outcome || settled_by == FAIL)));
  assert(an_answer_stands);
  /* Nobody holds a voided lease, and its job counts as expired. */
  a_fence_voids_every_lease = (!in_lease || claims > fenced || (expired && token != token_of[claims]));
  assert(a_fence_voids_every_lease);
  if
  :: in_outcome && !ended -> ended = true; the_end = spent_by
  :: else
  fi
}

/* Before a write under the lease of a claim: only the last claim may come so far, from before no fence. */
inline prove(claim) {
  proof_in_the_statement = (in_lease && claim == claims);
  assert(proof_in_the_statement);
  a_fence_voids_every_lease = (claim > fenced);
  assert(a_fence_voids_every_lease)
}

/* Where the statement of a call compares: besides, it is the owner's, and in time. */
inline prove_call() {
  prove(claim);
  proof_in_the_statement = (worker == owner_of[claim] && !expired);
  assert(proof_in_the_statement)
}

/* What a settlement or renewal writes, its row locked. */
inline write() {
  prove(claim);
  if
  :: how == RENEW -> expired = false
  :: else ->
    spent_token = token;
    spent_owner = owner;
    spent_by = how;
    leave();
    if
    :: how == FAIL && attempt < MAX_ATTEMPTS -> in_ready = true
    :: else -> in_outcome = true
    fi
  fi
}

/* The caller hears that it is done. */
inline accept() {
  if
  :: how == RENEW
  :: else -> settled = claim; settled_by = how
  fi;
  check()
}

/* What a call that wrote nothing hears: its answer once more, or a refusal. */
inline tell(answered) {
  a_lost_reply_can_be_asked_for_again =
    ((answered) == (!in_lease && settled == claim && settled_by == how && worker == owner_of[claim]));
  assert(a_lost_reply_can_be_asked_for_again)
}

/* One call of complete, fail or renew. Its claim's number serves the proofs alone. */
proctype Call(byte worker, mine, how, claim) {
  bool writes = false;

  /* Step 1 waits for nobody: what is locked is skipped. */
  atomic {
    if
    :: row_lock == FREE && valid(mine, worker) -> prove_call(); row_lock = _pid; writes = true
    :: else
    fi
  }
  if
  :: writes ->
    if
    :: d_step { write(); row_lock = FREE; accept() }
    :: row_lock = FREE /* the connection is lost before the commit */
    fi;
    goto over
  :: else
  fi;

  /* Step 2 looks where the token is, in a snapshot of its own: who holds a lock changes nothing yet. */
  atomic {
    if
    :: held_by(mine, worker)
    :: else -> tell(spent_so(mine, worker, how)); goto over
    fi
  }

  /* Step 3 waits for the row, alone in its statement: lock first, compare after. */
  atomic {
    row_lock == FREE;
    if
    :: in_lease -> row_lock = _pid
    :: else -> goto look
    fi
  }
  atomic {
    writes = valid(mine, worker);
    if
    :: writes -> prove_call()
    :: else
    fi
  }
  /* The clock is read once: what is valid then may be written, also when the commit comes later. */
  d_step {
    if
    :: writes -> write(); row_lock = FREE; accept()
    :: else -> row_lock = FREE
    fi
  }
  if
  :: writes -> goto over
  :: else
  fi;

look:
  skip;
  /* Step 4 looks once more: was it this very call that spent the token? Then its answer is given again. */
  d_step { tell(spent_so(mine, worker, how)) }
over:
  /* What is of no use any more makes no states that differ. */
  atomic { worker = NOBODY; mine = NOBODY; how = 0; claim = 0; writes = false }
}

/* The caller of a claim had gone before the answer: the job goes back, and its attempt with it. */
proctype Undo(byte mine, claim) {
  d_step {
    if
    :: row_lock == FREE && in_lease && token == mine ->
      prove(claim);
      attempts_are_counted_when_handed_out = !received;
      assert(attempts_are_counted_when_handed_out);
      in_ready = true;
      attempt--;
      undone++;
      spent_token = kept_token;
      spent_owner = kept_owner;
      spent_by = kept_by;
      leave();
      check()
    :: else /* locked, expired and taken back, or fenced: it costs the attempt */
    fi
  }
}

/* Either of them claims. A worker whose answer is lost on the way, or who dies, makes no call. */
active proctype Workers() {
  byte me = 1;
  byte who;
  byte how;

end:
  do
  :: atomic {
      in_ready ->
      if
      :: me = 1
      :: claims > 0 -> me = 2 /* the first of them is called 1 */
      fi;
      in_ready = false;
      in_lease = true;
      generation++;
      attempt++;
      owner = me;
      token = generation;
      expired = false;
      kept_token = spent_token;
      kept_owner = spent_owner;
      kept_by = spent_by;
      spent_token = NOBODY;
      spent_owner = NOBODY;
      spent_by = REAP;
      claims++;
      token_of[claims] = token;
      owner_of[claims] = owner;
      check();
      if
      :: undos > 0 -> undos--; received = false; run Undo(token, claims)
      :: received = true;
        do
        :: calls > 0 ->
          calls--;
          if
          :: who = me
          :: thefts > 0 -> thefts--; who = 3 - me
          fi;
          if
          :: how = COMPLETE
          :: how = FAIL
          :: how = RENEW
          fi;
          run Call(who, token, how, claims)
        :: break
        od
      fi;
      me = 1; who = 0; how = 0
    }
  od
}

/* Takes back what expired. Its look and its write are apart, and the write repeats the predicate. */
active proctype Maintenance() {
  bool writes = false;
  do
  :: in_lease && expired ->
    atomic {
      if
      :: row_lock == FREE && in_lease && expired -> row_lock = _pid; writes = true
      :: else /* locked, settled, renewed or claimed anew in between: left alone */
      fi
    }
    if
    :: writes ->
      d_step {
        proof_in_the_statement = (in_lease && expired);
        assert(proof_in_the_statement);
        leave();
        spent_token = NOBODY;
        spent_owner = NOBODY;
        spent_by = REAP;
        if
        :: attempt < MAX_ATTEMPTS -> in_ready = true
        :: else -> in_outcome = true
        fi;
        settled = 0;
        check();
        row_lock = FREE;
        writes = false
      }
    :: else
    fi
  :: in_outcome -> break
  od
}

/* Voids the lease, as after a restore: the token becomes one that nobody has. */
active proctype Operator() {
end:
  do
  :: d_step {
      fences > 0 && in_lease && row_lock == FREE ->
      fences--;
      generation++;
      token = generation;
      expired = true;
      fenced = claims;
      check()
    }
  od
}

/*
 * Locks the row now and then, and changes nothing: after such a wait PostgreSQL does not compare again by itself. It rests when there is
 * no call to hold up, so that a job which nobody takes back has no next state.
 */
active proctype Stranger() {
end:
  do
  :: atomic { in_lease && row_lock == FREE && _nr_pr > 5 -> row_lock = _pid }
    row_lock = FREE
  od
}

active proctype Clock() {
end:
  do
  :: d_step { in_lease && !expired -> expired = true }
  od
}
