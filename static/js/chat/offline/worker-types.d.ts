/** What a service worker has and the types of pages lack, as far as it is used. */

export interface WorkerEvent {
  readonly request: Request;
  readonly clientId: string;
  readonly resultingClientId: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever a page says.
  readonly data: any;
  waitUntil(work: Promise<unknown>): void;
  respondWith(reply: Promise<Response>): void;
}

export interface WorkerScope {
  readonly clients: { claim(): Promise<void> };
  readonly registration: { update(): Promise<unknown> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate" | "message" | "fetch", handler: (event: WorkerEvent) => void): void;
}

declare global {
  /** Written above the worker by the server. */
  const STILLHERE: { version: string; files: string[] };
}
