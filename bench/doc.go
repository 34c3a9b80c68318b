// Package bench replays the output of E3SM's cases through blobio: Replay writes a case in the blob layouts, reads it back,
// verifies every element, and says what that took.
//
// The clock runs from Create to the end of Close, on the slowest rank, after a barrier. Data and maps are made before,
// checksums and the manifest are inside. Values are the unique pattern of e3smcases.
package bench
