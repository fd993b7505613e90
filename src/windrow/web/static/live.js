// Updates the numbers of a session under way, and loads the page again when it has ended. Pages are complete without it.
"use strict";
const live = document.querySelector("[data-events]");
const source = new EventSource(live.dataset.events);
source.onmessage = (message) => {
  const texts = JSON.parse(message.data).texts;
  for (const place of live.querySelectorAll("[data-text]")) place.textContent = texts[place.dataset.text];
};
source.addEventListener("end", () => {
  source.close();
  location.reload();
});
