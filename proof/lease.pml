/*
 * One job between two workers, maintenance, an operator, a stranger's transaction and the clock: what each statement of the
 * store reads, waits for and writes, and nothing else. Spin visits every interleaving.
 *
 * `row_lock` is a lease's row that somebody has locked, or changed and not committed. A statement that skips locked rows passes it
 * by; one that waits takes it when it is free, and time goes on meanwhile. What stands in one atomic or d_step happens at once.
 *
 * The invariants have the names of CONTEXT.md. Each is a variable that an assertion reads, so that Spin's report names it.
 * Broken variants, one at a time: -DCOMPARE_BEFORE_LOCK, -DREAP_WITHOUT_PREDICATE, -DTOKEN_IS_OWNER, -DNO_SECOND_LOOK.
 */

#ifndef MAX_ATTEMPTS
#define MAX_ATTEMPTS 2
#endif
/* How often a worker makes the same call: a reply may be lost, and both calls be under way at once. */
#ifndef REPEATS
#define REPEATS 2
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
/* Who settled the job, as `ready` or `outcome` remember it; a lease keeps it for a claim that is undone. */
byte spent_token = NOBODY;
byte spent_owner = NOBODY;
byte spent_by = REAP;

/* What no process can see: every claim's token and owner, how many attempts were handed out, and how it ended. */
byte claims = 0;
byte token_of[MAX_CLAIMS + 1];
byte owner_of[MAX_CLAIMS + 1];
byte handed_out = 0;
byte undone = 0;
byte fences = 0;
byte highest = 0;
bool ended = false;
byte the_end = REAP;

bool one_place = true;
bool one_valid_lease = true;
bool proof_in_the_statement = true;
bool generations_grow = true;
bool terminal_is_terminal = true;
bool attempts_are_counted_when_handed_out = true;
bool a_lost_reply_can_be_asked_for_again = true;

#define held_by(t, w) (in_lease && token == (t) && owner == (w))
#define valid(t, w) (held_by(t, w) && !expired)
#define spent_so(t, w, how) (!in_lease && spent_token == (t) && spent_owner == (w) && spent_by == (how))
#define opens(c) (claims >= (c) && valid(token_of[c], owner_of[c]))

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
  attempts_are_counted_when_handed_out = (attempt == handed_out && attempt <= MAX_ATTEMPTS);
  assert(attempts_are_counted_when_handed_out);
  if
  :: in_outcome && !ended -> ended = true; the_end = spent_by
  :: else
  fi
}

/* Before a write that depends on a lease: only the last claim, in time, may come so far. */
inline prove(claim) {
  proof_in_the_statement = (in_lease && claim == claims && !expired);
  assert(proof_in_the_statement)
}

/* What a settlement or renewal writes, its row locked. */
inline write(how) {
  if
  :: how == RENEW -> expired = false
  :: else ->
    in_lease = false;
    spent_token = token;
    spent_owner = owner;
    spent_by = how;
    if
    :: how == FAIL && attempt < MAX_ATTEMPTS -> in_ready = true
    :: else -> in_outcome = true
    fi
  fi;
  check()
}

/* One call of complete, fail or renew under the lease of one claim, in the steps of its statements. */
proctype Call(byte worker, mine, claim, how) {
  bool writes = false;
  bool answered = false;
  bool claimed_again = false;

  /* Step 1 waits for nobody: what is locked is skipped. */
  atomic {
    if
    :: row_lock == FREE && valid(mine, worker) -> row_lock = _pid; prove(claim); writes = true
    :: else
    fi
  }
  if
  :: writes ->
    if
    :: d_step { write(how); row_lock = FREE }
    :: row_lock = FREE /* the connection is lost before the commit */
    fi;
    goto over
  :: else
  fi;

  /* Step 2 looks where the token is, in a snapshot of its own: who holds a lock changes nothing yet. */
  if
  :: !held_by(mine, worker) -> goto look
  :: else
  fi;

  /* Step 3 waits for the row, alone in its statement: lock first, compare after. */
#ifdef COMPARE_BEFORE_LOCK
  writes = valid(mine, worker);
#endif
  atomic {
    row_lock == FREE;
    if
    :: in_lease -> row_lock = _pid
#ifdef NO_SECOND_LOOK
    :: else -> goto refuse
#else
    :: else -> goto look
#endif
    fi
  }
#ifndef COMPARE_BEFORE_LOCK
  writes = valid(mine, worker);
  /* The clock is read once: what is valid then may be written, also when the commit comes later. */
#endif
  atomic {
    if
    :: writes ->
#ifdef COMPARE_BEFORE_LOCK
      prove(claim);
#endif
      write(how);
      row_lock = FREE;
      goto over
    :: else -> row_lock = FREE
    fi
  }
#ifdef NO_SECOND_LOOK
  goto refuse;
#endif

look:
  skip;
  /* Step 4: was it this very call that spent the token? Then its answer is given once more. */
  d_step {
    answered = (how != RENEW && spent_so(mine, worker, how));
    claimed_again = (claims > claim)
  }
refuse:
  skip;
  d_step {
    a_lost_reply_can_be_asked_for_again =
      (answered || claimed_again || how == RENEW || !spent_so(mine, worker, how));
    assert(a_lost_reply_can_be_asked_for_again)
  }
over:
  skip
}

/* The caller of a claim had gone before the answer: the job goes back, and its attempt with it. */
proctype Undo(byte mine, settled_token, settled_owner, settled_by) {
  atomic {
    if
    :: row_lock == FREE && in_lease && token == mine ->
      in_lease = false;
      in_ready = true;
      attempt--;
      handed_out--;
      spent_token = settled_token;
      spent_owner = settled_owner;
      spent_by = settled_by;
      check()
    :: else /* locked, expired and taken back, or fenced: it costs the attempt */
    fi
  }
}

proctype Worker(byte me) {
  byte mine = NOBODY;
  byte claim = 0;
  byte calls = 0;
  byte kept_token = NOBODY;
  byte kept_owner = NOBODY;
  byte kept_by = REAP;
  byte how = COMPLETE;

  do
  :: atomic {
      in_ready ->
      kept_token = spent_token;
      kept_owner = spent_owner;
      kept_by = spent_by;
      in_ready = false;
      in_lease = true;
      generation++;
      attempt++;
      handed_out++;
      claims++;
      owner = me;
#ifdef TOKEN_IS_OWNER
      token = me;
#else
      token = generation;
#endif
      token_of[claims] = token;
      owner_of[claims] = owner;
      expired = false;
      spent_token = NOBODY;
      spent_owner = NOBODY;
      mine = token;
      claim = claims;
      check()
    }
    if
    :: undone < MAX_UNDONE -> undone++; run Undo(mine, kept_token, kept_owner, kept_by)
    :: skip /* the answer is lost on the way, or the worker dies */
    :: how = COMPLETE; calls = REPEATS
    :: how = FAIL; calls = REPEATS
    :: how = RENEW; calls = 1
    fi;
    atomic {
      do
      :: calls > 0 -> run Call(me, mine, claim, how); calls--
      :: calls == 0 -> break
      od
    }
    d_step { mine = NOBODY; claim = 0; kept_token = NOBODY; kept_owner = NOBODY; kept_by = REAP; how = COMPLETE }
  :: in_outcome -> break
  od
}

/* Takes back what expired. Its look and its write are apart, and the write repeats the predicate. */
active proctype Maintenance() {
  bool writes = false;
  do
  :: in_lease && expired ->
#ifdef REAP_WITHOUT_PREDICATE
    atomic { row_lock == FREE -> row_lock = _pid; writes = true }
#else
    atomic {
      if
      :: row_lock == FREE && in_lease && expired -> row_lock = _pid; writes = true
      :: else /* locked, settled, renewed or claimed anew in between: left alone */
      fi
    }
#endif
    if
    :: writes ->
      d_step {
        proof_in_the_statement = (in_lease && expired);
        assert(proof_in_the_statement);
        in_lease = false;
        spent_token = NOBODY;
        spent_owner = NOBODY;
        spent_by = REAP;
        if
        :: attempt < MAX_ATTEMPTS -> in_ready = true
        :: else -> in_outcome = true
        fi;
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
  do
  :: atomic {
      fences < MAX_FENCES && in_lease && row_lock == FREE ->
      fences++;
      generation++;
      token = generation;
#ifdef TOKEN_IS_OWNER
      token = NOBODY;
#endif
      expired = true;
      check()
    }
  :: in_outcome -> break
  od
}

/* Locks the row now and then, and changes nothing: after such a wait PostgreSQL does not compare again by itself. */
active proctype Stranger() {
  do
  :: atomic { in_lease && row_lock == FREE -> row_lock = _pid }
    row_lock = FREE
  :: in_outcome -> break
  od
}

active proctype Clock() {
  do
  :: d_step { in_lease && !expired -> expired = true }
  :: in_outcome -> break
  od
}

init {
  atomic { run Worker(1); run Worker(2) }
}
