// A classic script in the head, so that the chosen theme applies before the first paint.
(() => {
  const chosen = localStorage.getItem('svc.theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();
