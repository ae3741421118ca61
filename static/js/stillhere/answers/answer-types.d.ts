/** Types of answers that the server makes. */

/** What is asked for. Left out: the configured model; the project's instructions. */
export interface AskOptions {
  /** One of `models()`. */
  model?: string;
  /** What the model is told beforehand. */
  instructions?: string;
}

/**
 * An answer that is being made. `waiting`: the request is not acknowledged yet; it is stored with its question and sent once the
 * server responds. `stopping`: the stop was requested here.
 */
export interface Answering {
  state: "waiting" | "running" | "stopping";
  /** The id of the message that is answered, if this page asked. */
  question: string | null;
  /** The id of the answer; null while `waiting`. */
  message: string | null;
}

/** How an answer ended. */
export interface Answered {
  question: string | null;
  message: string | null;
  state: "complete" | "stopped" | "interrupted" | "failed";
  /** Why it is not complete; null if that is not known here. */
  error: string | null;
  /** This page asked for it, or found it running when it was opened. */
  own: boolean;
}

export interface Models {
  items: { id: string }[];
  /** The one that answers if none is named. */
  default: string | null;
}

export interface AnswerEvents {
  /** `answering` changed. The text itself comes with `changed`. */
  answering: { answering: Answering | null };
  answered: Answered;
}

export interface AnswerCalls {
  /** The answer that the server is making in this session; null if there is none. */
  readonly answering: Answering | null;
  /**
   * Saves a question and lets the server answer it. The question and the request are stored on this browser's disk within 100 ms.
   * Returns the question's id.
   */
  ask(text: string, options?: AskOptions): string;
  /** Lets the server answer a message of the list. `again`: once more, beside the answers that it has. */
  answer(question: string, options?: AskOptions & { again?: boolean }): void;
  /** Stops the answer; its text so far stays. False if there is nothing to stop. */
  stop(): boolean;
  /**
   * Continues an answer that was stopped or interrupted; left out: the last one. False if the server did not make it. Rejects with
   * an `ApiError`, also if there is no connection.
   */
  continueAnswer(message?: string): Promise<boolean>;
  /** The models that can be named: none if the endpoint lists none. */
  models(): Promise<Models>;
}
