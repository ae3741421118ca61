/** A page follows its project's events, while somebody looks at it. What it missed meanwhile comes first. */

const LONGEST_WAIT_MS = 30_000;

/**
 * What is only worth doing while somebody looks at the page.
 * @returns {() => void} asks for `act`: it is done now, or once for however often it was asked, when the page is seen again
 */
export function whenSeen(act) {
  let due = false;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !due) return;
    due = false;
    act();
  });
  return () => {
    due = document.hidden;
    if (!due) act();
  };
}

/**
 * @param {{project: string, since: number, say: (words: string) => void, heard: (event: object) => void, opened?: () => void}} page
 *   `since`: the newest event that the page shows; `opened`: the socket is there, now or again.
 */
export function follow({ project, since, say, heard, opened }) {
  let seen = since;
  let socket = null;
  let waited = 0;
  let timer = 0;

  function take(event) {
    waited = 0;
    say("Live");
    if (event.event_seq) seen = Math.max(seen, event.event_seq);
    heard(event);
  }

  function connect() {
    clearTimeout(timer);
    if (socket || document.hidden) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}/ws/events/?project=${encodeURIComponent(project)}`);
    const own = socket;
    own.addEventListener("open", () => {
      own.send(JSON.stringify({ type: "subscribe", since: seen }));
      say("Live");
      opened?.();
    });
    own.addEventListener("message", (message) => take(JSON.parse(message.data)));
    own.addEventListener("close", () => {
      if (socket !== own) return;
      socket = null;
      if (document.hidden) return;
      waited = Math.min(LONGEST_WAIT_MS, (waited || 500) * 2);
      say("Cut off. Trying again…");
      timer = setTimeout(connect, waited * (0.5 + Math.random() / 2));
    });
  }

  /* A hidden tab listens to nothing; what it missed is read when it is looked at. */
  function rest() {
    clearTimeout(timer);
    const own = socket;
    socket = null;
    own?.close();
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : connect()));
  addEventListener("online", connect);
  addEventListener("pagehide", rest);
  addEventListener("pageshow", connect);
  connect();
}
