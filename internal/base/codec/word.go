package codec

import (
	"blobio/internal/base/fault"
	"fmt"
	"strconv"
	"strings"
)

// A Word is the name of a compression method in the arguments of users, alone or with a level: zstd, or zstd:3.
type Word struct {
	Name  string
	Level int // the highest level; levels begin at 1; 0: no levels
}

// Choose returns the word of s and its level, or 0 if s has none.
func Choose(s string, words ...Word) (name string, level int, err error) {
	name, text, given := strings.Cut(s, ":")
	for _, w := range words {
		if w.Name != name {
			continue
		}
		if !given {
			return name, 0, nil
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= w.Level {
			return name, n, nil
		}
	}
	var list []string
	for _, w := range words {
		if w.Level > 0 {
			w.Name += fmt.Sprintf("[:1-%d]", w.Level)
		}
		list = append(list, w.Name)
	}
	last := len(list) - 1
	return "", 0, fault.Usage("compression %q, want %s or %s", s, strings.Join(list[:last], ", "), list[last])
}
