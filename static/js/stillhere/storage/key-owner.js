/** Whose this page's key is: what the account's former keys left in this browser is taken over. Only pages with a key load that. */

/**
 * @import { FormerKeysNeeds } from "../needs.d.ts"
 * @import { FormerKeys } from "./former-keys.js"
 */

export class KeyOwner {
  /** @param {FormerKeysNeeds} needs */
  constructor(needs) {
    this.needs = needs;
    /** @type {FormerKeys | undefined} */
    this.former = undefined;
    this.closed = false;
  }

  /** The server said it. If the module cannot be loaded now: it says it again with the next ticket. @param {string} account */
  async belongs(account) {
    if (!this.needs.http.auth.key) return;
    const module = await import("./former-keys.js").catch(() => undefined);
    if (!module || this.closed) return;
    this.former ??= new module.FormerKeys(this.needs);
    await this.former.belongs(account);
  }

  close() {
    this.closed = true;
    this.former?.close();
  }
}
