// Package bench replays the output of E3SM's cases through blobio: it writes
// them in the blob layouts, reads them back, verifies every element and
// measures what that took.
package bench
