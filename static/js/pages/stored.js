/** Choices that this browser remembers. If it blocks storage, reading the property throws: then a choice applies to this page only. */

/** @param {string} name @returns {string | null} */
export function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string | null} value null: none */
export function store(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Only the choice is lost.
  }
}
