package vfs

import (
	"bytes"
	"unicode/utf8"
)

// kinds are formats that are none of ours, by their first bytes.
var kinds = []struct{ magic, what, who string }{
	{LFSPointer, "a Git LFS pointer", "\"git lfs pull\" fetches the file"},
	{"CDF", "a CDF file", "netCDF-C (ncdump) may read it"},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file", "h5dump and netCDF-C may read it"},
	{"\xcd\xf3\x00\x01", "a CDF file of NASA", "the CDF library of NASA reads it"},
	{"\x1f\x8b", "gzip data", "gunzip unpacks it"},
	{"BZh", "bzip2 data", "bunzip2 unpacks it"},
	{"\x28\xb5\x2f\xfd", "zstd data", "unzstd unpacks it"},
	{"\xfd7zXZ", "xz data", "unxz unpacks it"},
	{"PK\x03\x04", "a zip archive", "unzip unpacks it"},
	{"GRIB", "a GRIB file", "ecCodes and cdo read it"},
	{"\x0e\x03\x13\x01", "an HDF4 file", "the HDF4 library reads it"},
	{"\x7fELF", "an ELF program", ""},
	{"\x89PNG", "a PNG picture", ""},
}

// Kind says by its first bytes what a file of another format is, and who reads it; "" if that is not known.
func Kind(head []byte) (what, who string) {
	for _, k := range kinds {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.what, k.who
		}
	}
	return "", ""
}

// IsText reports whether a file that begins with head may be a text.
func IsText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(head) || r < ' ' && r != '\t' && r != '\n' && r != '\r' {
			return false
		}
		head = head[n:]
	}
	return true
}
