package cellodir

import (
	"blobio/internal/amr"
	"blobio/internal/base/fault"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Maximum sizes of the text files in bytes.
const (
	MaxFileList  = 64 << 20
	MaxBlockList = 1 << 30
)

// space reports whether C++ streams skip c between words.
func space(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// words yields the words of b with their offsets.
func words(b []byte, yield func(off int64, w []byte) bool) {
	for i := 0; i < len(b); {
		if space(b[i]) {
			i++
			continue
		}
		j := i
		for j < len(b) && !space(b[j]) {
			j++
		}
		if !yield(int64(i), b[i:j]) {
			return
		}
		i = j
	}
}

// DecodeFileList decodes check.file_list: the number of files, then their names without suffix. Any white space separates names,
// as in Enzo-E.
func DecodeFileList(b []byte, file string) (names []string, err error) {
	count := int64(-1)
	seen := map[string]bool{}
	words(b, func(off int64, w []byte) bool {
		switch {
		case count < 0:
			n, e := strconv.ParseInt(string(w), 10, 32)
			if e != nil || n < 1 {
				err = fault.At(file, off, "number of files", fault.ErrCorrupt, "%.40q, want a number from 1 on", w)
				return false
			}
			if count = n; count > int64(len(b))/2+1 { // each name needs at least a byte and a separator
				err = fault.At(file, off, "number of files", fault.ErrTruncated, "%d, but the file has %d bytes", n, len(b))
				return false
			}
			names = make([]string, 0, count)
		case int64(len(names)) == count:
			err = fault.At(file, off, "file name", fault.ErrCorrupt, "extra name %.40q after the announced %d names", w, count)
			return false
		case !PlainName(string(w)):
			err = fault.At(file, off, "file name", fault.ErrCorrupt, "%.80q, want a name without directory", w)
			return false
		case seen[string(w)]:
			err = fault.At(file, off, "file name", fault.ErrCorrupt, "%.80q is listed twice", w)
			return false
		default:
			seen[string(w)] = true
			names = append(names, string(w))
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case count < 0:
		return nil, fault.At(file, int64(len(b)), "number of files", fault.ErrTruncated, "the list is empty")
	case int64(len(names)) < count:
		return nil, fault.At(file, int64(len(b)), "file name", fault.ErrTruncated, "%d names, want %d as announced", len(names), count)
	}
	return names, nil
}

// PlainName reports whether a name denotes a file in the directory itself.
func PlainName(s string) bool {
	return s != "" && len(s) <= 200 && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

func EncodeFileList(names []string) []byte {
	b := fmt.Appendf(nil, "%d\n", len(names))
	for _, n := range names {
		b = append(append(b, n...), '\n')
	}
	return b
}

// Entry is a line of a block list.
type Entry struct {
	Name  string
	Level int
	Off   int64 // byte offset of the name in the list
}

// DecodeBlockList decodes a block list: pairs of block name and level. A list without blocks is valid, because files may be
// empty.
func DecodeBlockList(b []byte, file string) ([]Entry, error) {
	l := make([]Entry, 0, min(len(b)/16, 1<<20))
	text := string(b) // one string for all names
	var err error
	name := int64(-1)
	end := int64(0)
	words(b, func(off int64, w []byte) bool {
		if name < 0 {
			if w[0] != 'B' || len(w) > amr.MaxName || len(bytes.TrimLeft(w[1:], "01:_")) > 0 {
				err = fault.At(file, off, "block name", fault.ErrCorrupt, "%.100q, want B and binary digits", w)
				return false
			}
			name, end = off, off+int64(len(w))
			return true
		}
		n, e := strconv.Atoi(string(w))
		if e != nil || n < -31 || n > 31 {
			err = fault.At(file, off, "level", fault.ErrCorrupt, "%.40q of block %s, want -31 to 31", w, text[name:end])
			return false
		}
		l = append(l, Entry{Name: text[name:end], Level: n, Off: name})
		name = -1
		return true
	})
	if err == nil && name >= 0 {
		err = fault.At(file, int64(len(b)), "level", fault.ErrTruncated, "the list ends after the name %s", text[name:end])
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

func EncodeBlockList(l []Entry) []byte {
	n := 0
	for _, e := range l {
		n += len(e.Name) + 5
	}
	b := bytes.NewBuffer(make([]byte, 0, n))
	for _, e := range l {
		b.WriteString(e.Name)
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(e.Level))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// fileDigits returns the number of digits in block_data-<x>. Enzo-E computes int(log(files-1)/log(10)+1) in floating point. For
// files-1 = 1000, 10^6 and 10^9 the quotient is just below 3, 6 and 9, so the result is one digit too small.
func fileDigits(files int) int {
	n := len(strconv.Itoa(max(files-1, 1)))
	switch files - 1 {
	case 1_000, 1_000_000, 1_000_000_000:
		n--
	}
	return n
}

// FileName returns the name, without suffix, that Enzo-E gives to file i of files: block_data-<x>, padded with zeros. Readers
// take the names from check.file_list.
func FileName(i, files int) string {
	return fmt.Sprintf("block_data-%0*d", fileDigits(files), i)
}

// FileStart returns the index of the first block of a file: ceil(file*count/files). The file ends where the next file starts. If
// both starts are equal, the file has no blocks.
func FileStart(file, files int, count int64) int64 {
	return (int64(file)*count + int64(files) - 1) / int64(files)
}
