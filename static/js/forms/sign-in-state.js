/** Is the user of this page still signed in? Each login has another CSRF token. */

const TIMEOUT_MS = 8000;

/** @typedef {"here" | "away" | "signed-out" | "somebody-else"} Standing */

/** @param {string} user @returns {Promise<{standing: Standing, csrf?: string}>} */
export async function askStanding(user) {
  try {
    const answer = await fetch("/chat/sign-in-state", { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (answer.status === 401) return { standing: "signed-out" };
    if (!answer.ok) return { standing: "away" };
    const login = await answer.json();
    return login.user === user ? { standing: "here", csrf: login.csrf } : { standing: "somebody-else" };
  } catch {
    return { standing: "away" };
  }
}
