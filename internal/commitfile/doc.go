// Package commitfile is the form of the small files whose replacement commits
// something: one line of JSON, one line with the CRC-32 (IEEE) of the first, its
// newline included.
//
//	{"format":"blobio versions","version":1,"seq":3,...}
//	crc32 1b2c3d4e
//
// The JSON begins with a Head. A file is replaced as a whole: the new content is
// written beside it under NAME.next, synced, and renamed.
package commitfile
