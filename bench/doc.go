// Package bench replays the output of E3SM's cases through blobio. Replay writes a case in the blob layouts, reads it back,
// verifies every element, and reports the times.
//
// The time runs from Create to the end of Close, on the slowest rank, after a barrier. It includes checksums and the manifest,
// but not the preparation of data and maps. Each element has a unique value (package e3smcases).
package bench
