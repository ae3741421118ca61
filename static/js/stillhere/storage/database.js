/** One object store in IndexedDB. A write is on the disk when its promise resolves (`durability: "strict"`). */
import { nameOf } from "../util.js";

/** @template T @typedef {(store: IDBObjectStore) => IDBRequest<T> | void} Act */

// Another page may be frozen while it makes the database: then this one waits until that one is awake or gone.
const OPENING_MS = 3000;
/** @type {Set<string | undefined>} */
const CLOSED = new Set(["InvalidStateError", "UnknownError", "AbortError"]);

/** The warning code for a failed write. @param {unknown} error @returns {"storage_full" | "storage_blocked"} */
export const warningOf = (error) => (nameOf(error) === "QuotaExceededError" ? "storage_full" : "storage_blocked");

export class Database {
  /**
   * @param {string} name @param {string} store @param {IDBObjectStoreParameters} options
   * @param {string} [index] a field to find rows by
   */
  constructor(name, store, options, index) {
    this.name = name;
    this.store = store;
    this.options = options;
    this.index = index;
    /** Rejected while the database does not open: callers do without it. @type {Promise<IDBDatabase> | undefined} */
    this.opened = undefined;
    /** Called if it opens after all. */
    this.openedLate = () => {};
    /** Called if the browser takes it away, as it does if a person clears the site's data. */
    this.gone = () => {};
    this._open().catch(() => {}); // Ready before the first save.
  }

  /**
   * Run `act(store)` in one transaction. Resolves with the result of the request that `act` returns, when the transaction is
   * complete. Transactions that write run in the order of the calls.
   * @template [T=void] @param {IDBTransactionMode} mode @param {Act<T>} act
   * @param {boolean} [goesOn] it makes more requests later @returns {Promise<T>}
   */
  async run(mode, act, goesOn = false) {
    try {
      return await this._transaction(await this._open(), mode, act, goesOn);
    } catch (error) {
      // The browser may close a connection at any time: retry once with a new one.
      if (!CLOSED.has(nameOf(error))) throw error;
      this.opened = undefined;
      return this._transaction(await this._open(), mode, act, goesOn);
    }
  }

  /**
   * @template T @param {IDBDatabase} database @param {IDBTransactionMode} mode @param {Act<T>} act @param {boolean} goesOn
   * @returns {Promise<T>}
   */
  _transaction(database, mode, act, goesOn) {
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(this.store, mode, { durability: "strict" });
      const request = act(transaction.objectStore(this.store));
      // Safari freezes a page that is left, and what is open then holds up all others.
      if (!goesOn) transaction.commit?.();
      transaction.oncomplete = () => resolve(/** @type {T} */ (request?.result));
      transaction.onabort = () => reject(transaction.error ?? request?.error);
      transaction.onerror = () => reject(transaction.error ?? request?.error);
    });
  }

  _open() {
    this.opened ??= this._connect();
    return this.opened;
  }

  /** @returns {Promise<IDBDatabase>} */
  _connect() {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open(this.name, 1);
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        reject(new Error("The database does not open."));
      }, OPENING_MS);
      const fail = (/** @type {unknown} */ error) => {
        clearTimeout(timer);
        this.opened = undefined;
        reject(error);
      };
      opening.onupgradeneeded = () => {
        const store = opening.result.createObjectStore(this.store, this.options);
        if (this.index) store.createIndex(this.index, this.index);
      };
      opening.onsuccess = () => {
        clearTimeout(timer);
        const database = opening.result;
        database.onclose = () => {
          this.opened = undefined;
          this.gone();
        };
        database.onversionchange = () => {
          database.close();
          this.opened = undefined;
          this.gone();
        };
        resolve(database);
        if (!late) return;
        this.opened = Promise.resolve(database);
        this.openedLate();
      };
      opening.onerror = () => fail(opening.error);
      opening.onblocked = () => fail(new Error("Another tab holds the database."));
    });
  }
}
