/** What htmx, and the server by its headers, add to every page. */

interface HtmxDetail {
  elt: HTMLElement;
  xhr: XMLHttpRequest;
  shouldSwap: boolean;
  requestConfig?: { triggeringEvent?: Event };
}

interface ToastDetail {
  message: string;
  error?: boolean;
  undo?: { action: string; label?: string };
}

interface HTMLElementEventMap {
  "htmx:load": CustomEvent<HtmxDetail>;
  "htmx:beforeRequest": CustomEvent<HtmxDetail>;
  "htmx:afterRequest": CustomEvent<HtmxDetail>;
  "htmx:beforeSwap": CustomEvent<HtmxDetail>;
  "htmx:sendError": CustomEvent<HtmxDetail>;
  toast: CustomEvent<ToastDetail>;
  changed: CustomEvent;
}

declare var htmx: { process(element: Element): void } | undefined;
