// Keeps a list of runs or runners fresh: fetches the same page and takes its list. Rests while nobody looks.

const REFRESH_MS = 2000;
let inFlight = false;

async function refresh() {
  if (inFlight || document.hidden) return;
  inFlight = true;
  try {
    const response = await fetch(location.href);
    if (!response.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-list]");
    const shown = document.querySelector("[data-list]");
    // Replacing what has the focus would throw a keyboard user back to the top.
    if (fresh && shown && !shown.contains(document.activeElement) && !fresh.isEqualNode(shown)) {
      shown.replaceWith(document.adoptNode(fresh));
    }
  } catch {
    // The server is away; the next turn tries again.
  } finally {
    inFlight = false;
  }
}

setInterval(refresh, REFRESH_MS);
