package edge

import (
	"regexp"
	"strings"
)

// optionNames maps names of Go option fields, as the errors of package blob have them, to names of
// options in C.
var optionNames = map[string]string{
	"Layout": "layout", "Subfiles": "subfiles", "Grouping": "grouping", "Records": "records", "Retain": "retain",
	"Durability": "durability", "Renames": "commit", "FillIncomplete": "incomplete", "Heartbeat": "heartbeat", "Force": "force=yes", "Repeats": "repeats=yes", "WideMaps": "wide_maps=yes", "Compress": "compress", "Memory": "memory",
	"Buffer": "buffer", "Aggregators": "aggregators", "OwnMin": "own_min", "Stripe": "stripe_size", "Stripe.Size": "stripe_size", "Stripe.Count": "stripe_count",
	"Workers": "workers", "MaxOpen": "max_open", "AllowMissing": "allow_missing=yes", "MissingLater": "missing_later=yes", "Verify": "verify", "Quick": "quick=yes", "Vars": "vars",
	"Version": "format", "Blobs": "format", "Ranks": "ranks", "DropUncovered": "drop_uncovered=yes", "ZeroFill": "zero_fill=yes", "FillMissing": "fill_missing=yes",
}

var (
	optionField = regexp.MustCompile(`\b(?:Open|Convert|Check)?Options\.([A-Z][a-z]\w*(?:\.(?:Size|Count)\b)?)`)
	// beside replaces text that stands beside such a field.
	beside = strings.NewReplacer(" and MaxOpen ", " and max_open ", ", Subfiles ", ", subfiles ", " and Workers ", " and workers ",
		" and 0 without Size", " and 0 without stripe_size", ", want Ranks ", ", want ranks ",
		"or lend data until Close", "or use option retain=close", "call Flush earlier, or lend data until Flush", "call blobio_flush earlier, or use option retain=flush")
	calls = strings.NewReplacer("put after Close", "put after blobio_close", "flush after Close", "flush after blobio_close", "commit after Close", "commit after blobio_close",
		"the first Commit", "the first blobio_commit", "CommitAsync", "blobio_commit_async",
		"close after Close", "close after blobio_close", "MPI is not initialized; use Init", "MPI is not initialized: call MPI_Init first, and MPI_Finalize after blobio_close",
		"\n", "; ")
)

// Words rewrites the text of an error for C callers: it becomes one line, with the names of options
// in C.
func Words(text string) string {
	if optionField.MatchString(text) {
		text = optionField.ReplaceAllStringFunc(text, func(s string) string {
			if name, ok := optionNames[optionField.FindStringSubmatch(s)[1]]; ok {
				return "option " + name
			}
			return s
		})
		text = beside.Replace(text)
	}
	return calls.Replace(text)
}
