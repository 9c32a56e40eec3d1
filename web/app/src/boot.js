// A classic script in the head, not a module: it runs before the first paint.
(() => {
  const chosen = localStorage.getItem('svc.theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
  if (localStorage.getItem('svc.density') === 'compact') document.documentElement.dataset.density = 'compact';
  // The pages below have no navigation, so they do not show the frame that other pages show while the modules load.
  const bare = /^\/(login|sign-in|setup|connect|device|api\/docs)$/.test(location.pathname);
  if (bare) document.documentElement.dataset.bare = '';
})();
