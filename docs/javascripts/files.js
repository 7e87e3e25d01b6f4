// A browser lets no page that was opened as a file read the index of the search: say what does.
if (location.protocol === "file:") {
  document.addEventListener("DOMContentLoaded", () => {
    for (const field of document.querySelectorAll(".md-search__input")) {
      field.placeholder = "Search works with: mkdocs serve";
      field.disabled = true;
    }
  });
}
