/** What surrounds the slicer: the effects that its commands have. */
export interface Workshop {
  /** Keeps a note. The same id again replaces it, so keeping it twice is keeping it once. */
  readonly keepNote: (note: LayerNote) => Promise<void>;
  /** Hands a drawing to the printer. Only the printer knows whether it has it: once there, it can be neither looked up nor taken back. */
  readonly printProof: (proof: Proof) => Promise<void>;
  /** Tells everybody who follows. Each call is a message of its own, and none can be taken back. */
  readonly announce: (announcement: Announcement) => Promise<void>;
}

/** A note about a layer. */
export interface LayerNote {
  /** Names the note for ever. */
  readonly id: string;
  readonly jobId: string;
  readonly layer: number;
  readonly text: string;
}

/** A layer to be printed for a look at it. */
export interface Proof {
  readonly jobId: string;
  readonly layer: number;
  /** SVG. */
  readonly drawing: string;
}

/** A line for everybody. */
export interface Announcement {
  readonly jobId: string;
  readonly text: string;
}
