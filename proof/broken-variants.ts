/** A protocol that lacks one of its guards, and what that breaks. */
export interface BrokenVariant {
  /** What it does. */
  readonly does: string;
  /** Texts that each stand in the model just once, and what comes in their place. */
  readonly edits: readonly (readonly [string, string])[];
  /** The invariant whose assertion fails. */
  readonly breaks: string;
  /** Bounds beyond two attempts and two calls. */
  readonly bounds?: readonly string[];
  /** Much like another one: tried when there is time. */
  readonly isLike?: true;
}

const undo = ["-DMAX_UNDONE=1"];
const fence = ["-DMAX_FENCES=1"];
const theft = ["-DMAX_THEFTS=1"];
const once = ["-DMAX_ATTEMPTS=1"];

const proof = "proof_in_the_statement";
const counted = "attempts_are_counted_when_handed_out";
const answer = "an_answer_stands";
const lostReply = "a_lost_reply_can_be_asked_for_again";
const voided = "a_fence_voids_every_lease";

const held = "(in_lease && token == (t) && owner == (w))";
const spent = "(!in_lease && spent_token == (t) && spent_owner == (w) && spent_by == (how))";
const stepOne = ":: row_lock == FREE && valid(mine, worker) ->";
const newToken = "      token = generation;\n      expired = true;";

/** Every guard that the model has, taken out of it: each invariant is broken by one of them at least. */
export const brokenVariants: readonly BrokenVariant[] = [
  {
    does: "a settlement whose row stays leased",
    edits: [["    spent_by = how;\n    leave();", "    spent_by = how;"]],
    breaks: "one_place",
  },
  {
    does: "a last failure that is queued again as well",
    edits: [
      [
        ":: else -> in_outcome = true\n    fi\n  fi\n}",
        ":: else -> in_outcome = true; in_ready = (how == FAIL)\n    fi\n  fi\n}",
      ],
    ],
    breaks: "one_place",
    isLike: true,
  },
  {
    does: "a worker's name in the place of a token",
    edits: [["token = generation;\n      expired = false;", "token = me;\n      expired = false;"]],
    breaks: "one_valid_lease",
  },
  {
    does: "an expiry that is not compared by the first statement",
    edits: [[stepOne, ":: row_lock == FREE && held_by(mine, worker) ->"]],
    breaks: proof,
  },
  {
    does: "a renewal that revives an expired lease",
    edits: [
      [stepOne, ":: row_lock == FREE && (valid(mine, worker) || (how == RENEW && held_by(mine, worker))) ->"],
    ],
    breaks: proof,
    isLike: true,
  },
  {
    does: "an expiry that is compared before the wait for the row",
    edits: [
      ["lock first, compare after. */\n", "lock first, compare after. */\n  writes = valid(mine, worker);\n"],
      ["  atomic {\n    writes = valid(mine, worker);\n    if", "  atomic {\n    if"],
    ],
    breaks: proof,
  },
  {
    does: "an expiry that is not compared after the wait",
    edits: [["    writes = valid(mine, worker);\n    if", "    writes = held_by(mine, worker);\n    if"]],
    breaks: proof,
  },
  {
    does: "a token that is not compared after the wait",
    edits: [
      [
        "    writes = valid(mine, worker);\n    if",
        "    writes = in_lease && owner == worker && !expired;\n    if",
      ],
    ],
    breaks: proof,
    isLike: true,
  },
  {
    does: "nothing that is compared after the wait",
    edits: [["    writes = valid(mine, worker);\n    if", "    writes = in_lease;\n    if"]],
    breaks: proof,
    isLike: true,
  },
  { does: "a token that is never compared", edits: [[held, "(in_lease && owner == (w))"]], breaks: proof },
  {
    does: "an owner who is never compared",
    edits: [[held, "(in_lease && token == (t))"]],
    breaks: proof,
    bounds: theft,
  },
  {
    does: "maintenance that does not repeat what it read",
    edits: [[":: row_lock == FREE && in_lease && expired ->", ":: row_lock == FREE ->"]],
    breaks: proof,
  },
  {
    does: "an undo that compares no token",
    edits: [[":: row_lock == FREE && in_lease && token == mine ->", ":: row_lock == FREE && in_lease ->"]],
    breaks: proof,
    bounds: undo,
  },
  {
    does: "an undo that lowers the generation",
    edits: [["      attempt--;\n", "      attempt--;\n      generation--;\n"]],
    breaks: "generations_grow",
    bounds: undo,
  },
  {
    does: "a settlement of a spent token that writes the outcome again",
    edits: [
      [
        ":: else -> tell(spent_so(mine, worker, how)); goto over",
        ":: in_outcome && spent_token == mine && how != RENEW -> spent_by = how; accept(); goto over\n    :: else -> tell(spent_so(mine, worker, how)); goto over",
      ],
    ],
    breaks: "terminal_is_terminal",
    bounds: once,
  },
  {
    does: "a failure that ignores the limit of attempts",
    edits: [[":: how == FAIL && attempt < MAX_ATTEMPTS -> in_ready", ":: how == FAIL -> in_ready"]],
    breaks: counted,
  },
  {
    does: "maintenance that ignores the limit of attempts",
    edits: [
      [":: attempt < MAX_ATTEMPTS -> in_ready = true\n        ::", ":: true -> in_ready = true\n        ::"],
    ],
    breaks: counted,
    isLike: true,
  },
  {
    does: "an undo that keeps the attempt",
    edits: [["      attempt--;\n", ""]],
    breaks: counted,
    bounds: undo,
  },
  {
    does: "an undo of a claim that was received",
    edits: [
      ["undos > 0 -> undos--; received = false; run Undo(token, claims)\n      ::", "true ->"],
      [
        "received = true;\n",
        "received = true;\n        if\n        :: undos > 0 -> undos--; run Undo(token, claims)\n        :: true\n        fi;\n",
      ],
    ],
    breaks: counted,
    bounds: undo,
  },
  {
    does: "an answer before the commit",
    edits: [
      [
        ":: row_lock = FREE /* the connection is lost",
        ":: d_step { row_lock = FREE; accept() } /* the connection is lost",
      ],
    ],
    breaks: answer,
  },
  {
    does: "a completion that stores nothing",
    edits: [
      [
        "  if\n  :: how == RENEW -> expired = false\n",
        "  if\n  :: how == RENEW -> expired = false\n  :: how == COMPLETE\n",
      ],
    ],
    breaks: answer,
  },
  {
    does: "an undo that forgets who had settled",
    edits: [
      ["      spent_token = kept_token;\n      spent_owner = kept_owner;\n      spent_by = kept_by;\n", ""],
    ],
    breaks: answer,
    bounds: undo,
  },
  {
    does: "a refusal after the wait without another look",
    edits: [["    :: else -> goto look\n", "    :: else -> tell(false); goto over\n"]],
    breaks: lostReply,
    bounds: once,
  },
  {
    does: "no answer that is given again",
    edits: [[spent, "false"]],
    breaks: lostReply,
    isLike: true,
    bounds: once,
  },
  {
    does: "an answer given again whatever the token",
    edits: [[spent, "(!in_lease && spent_owner == (w) && spent_by == (how))"]],
    breaks: lostReply,
  },
  {
    does: "an answer given again to another owner",
    edits: [[spent, "(!in_lease && spent_token == (t) && spent_by == (how))"]],
    breaks: lostReply,
    bounds: theft,
  },
  {
    does: "an answer given again to another operation",
    edits: [[spent, "(!in_lease && spent_token == (t) && spent_owner == (w))"]],
    breaks: lostReply,
    bounds: once,
  },
  {
    does: "maintenance that answers for the attempt that it took back",
    edits: [
      [
        "        leave();\n        spent_token = NOBODY;\n        spent_owner = NOBODY;\n        spent_by = REAP;\n",
        "        spent_token = token;\n        spent_owner = owner;\n        spent_by = COMPLETE;\n        leave();\n",
      ],
    ],
    breaks: lostReply,
    isLike: true,
  },
  {
    does: "a fence that does nothing",
    edits: [
      ["      generation++;\n      token = generation;\n      expired = true;\n      fenced", "      fenced"],
    ],
    breaks: voided,
    bounds: fence,
  },
  {
    does: "a fence that only expires",
    edits: [[newToken, "      expired = true;"]],
    breaks: voided,
    bounds: fence,
  },
  {
    does: "a fence after which the job waits for the lease's end",
    edits: [[newToken, "      token = generation;"]],
    breaks: voided,
    bounds: fence,
  },
  {
    does: "a fence that only raises the generation",
    edits: [[newToken, ""]],
    breaks: voided,
    isLike: true,
    bounds: fence,
  },
  {
    does: "maintenance that passes voided leases by",
    edits: [["  :: in_lease && expired ->", "  :: in_lease && expired && claims > fenced ->"]],
    breaks: "no_job_gets_stuck",
    bounds: fence,
  },
  {
    does: "maintenance that takes back only what has attempts left",
    edits: [["  :: in_lease && expired ->", "  :: in_lease && expired && attempt < MAX_ATTEMPTS ->"]],
    breaks: "no_job_gets_stuck",
    isLike: true,
  },
];
