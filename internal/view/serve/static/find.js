// Rows of the table are shown that have the text of the field.
"use strict";
document.getElementById("find")?.addEventListener("input", (e) => {
	const want = e.target.value.trim().toLowerCase();
	for (const row of document.querySelectorAll("table.found tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(want);
});
