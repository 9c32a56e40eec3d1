"use strict";
// The token comes from the one-time link and is sent once, in the body.
const form = document.getElementById("setup");
const answer = document.getElementById("answer");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = Object.fromEntries(new FormData(form));
  const body = { setup_token: new URLSearchParams(location.search).get("token") ?? "", ...fields };
  const response = await fetch("/api/auth/setup", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const result = await response.json().catch(() => ({}));
  if (response.ok) {
    form.hidden = true;
    answer.textContent = `Done. Log in from a terminal with: svc login ${location.origin} --username ${fields.username}`;
  } else {
    answer.textContent = result.detail ?? `The server answered ${response.status}.`;
  }
});
