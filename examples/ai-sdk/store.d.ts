/** What vite.config.js puts into the page. */
declare const STORE: { url: string; key: string; project: string };
