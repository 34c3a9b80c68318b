package fti

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"blobio/ffformat"
	"blobio/internal/cli"
)

// Characters for bytes that do not belong to a variable.
const (
	symbolOther   = '*' // variables without a letter of their own
	symbolEmpty   = '.'
	symbolMeta    = '#'
	symbolGap     = '_'
	symbolParity  = 'P'
	symbolOverlap = '!'
	symbolLost    = '?'
)

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// mapSymbols returns the character of each variable. The character is the id if all ids are 0 to 9. Otherwise the variables get
// letters in order of first appearance, and * if there are no more letters.
func mapSymbols(f *ffformat.File) map[int32]rune {
	vars := f.Vars()
	digits := true
	for _, v := range vars {
		digits = digits && v.ID >= 0 && v.ID <= 9
	}
	out := make(map[int32]rune, len(vars))
	for i, v := range vars {
		switch {
		case digits:
			out[v.ID] = '0' + v.ID
		case i < len(letters):
			out[v.ID] = rune(letters[i])
		default:
			out[v.ID] = symbolOther
		}
	}
	return out
}

const (
	mapColumns = 64 // characters per line of a map
	mapLines   = 16 // maximum
)

// writeMap prints a file's map, with columns characters per line. The first line gives the bytes per character. A character shows
// the kind of most of its bytes, with one exception: a character between two characters of one kind shows the start of metadata.
func writeMap(w io.Writer, f *ffformat.File, columns, lines int) error {
	extents := f.Extents()
	total := int64(0)
	if n := len(extents); n > 0 {
		total = extents[n-1].End()
	}
	cell := cellSize(total, int64(columns*lines))
	cells := mapCells(extents, total, cell, mapSymbols(f))
	var b bytes.Buffer
	fmt.Fprintf(&b, "map: %s\n", strings.Join(mapKey(usage(extents), cell), ", "))
	digits := len(fmt.Sprintf("%x", max(total-1, 0)))
	for i := 0; i < len(cells); i += columns {
		fmt.Fprintf(&b, "  0x%0*x  %s\n", digits, int64(i)*cell, string(cells[i:min(i+columns, len(cells))]))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// usage returns the total bytes of extents by kind.
func usage(extents []ffformat.Extent) map[string]int64 {
	sum := map[string]int64{}
	for _, e := range extents {
		sum[e.Kind] += e.Len
	}
	return sum
}

// mapKey explains the characters that do not stand for variables.
func mapKey(usage map[string]int64, cell int64) []string {
	out := []string{"each character is " + cli.HumanBytes(cell)}
	for _, k := range []struct {
		kind   string
		symbol rune
		text   string
	}{
		{"metadata", symbolMeta, "metadata"},
		{"empty", symbolEmpty, "reserved but unused"},
		{"gap", symbolGap, "outside of containers"},
		{"parity", symbolParity, "parity"},
		{"overlap", symbolOverlap, "claimed by two containers"},
		{"lost", symbolLost, "past the end of the file"},
	} {
		if usage[k.kind] > 0 {
			out = append(out, fmt.Sprintf("%c %s", k.symbol, k.text))
		}
	}
	return out
}

// cellSize returns the smallest power of two for which total fits into n cells.
func cellSize(total, n int64) int64 {
	size := int64(1)
	for size < math.MaxInt64/2 && (total+size-1)/size > n {
		size *= 2
	}
	return size
}

func mapCells(extents []ffformat.Extent, total, cell int64, symbols map[int32]rune) []rune {
	var out []rune
	i := 0
	for off := int64(0); off < total; off += cell {
		for extents[i].End() <= off {
			i++
		}
		end := min(off+cell, total)
		best, most := symbolGap, int64(0)
		sum := map[rune]int64{}
		for k := i; k < len(extents) && extents[k].Off < end; k++ {
			n := min(extents[k].End(), end) - max(extents[k].Off, off)
			s := symbolOf(extents[k], symbols)
			sum[s] += n
			if sum[s] > most {
				best, most = s, sum[s]
			}
		}
		out = append(out, best)
	}
	// metadata are shown even if they are few
	for _, e := range extents {
		if at := e.Off / cell; e.Kind == "metadata" && e.Len < cell && out[at] != symbolMeta {
			before, after := at == 0 || out[at-1] == out[at], at == int64(len(out)-1) || out[at+1] == out[at]
			if before && after {
				out[at] = symbolMeta
			}
		}
	}
	return out
}

func symbolOf(e ffformat.Extent, symbols map[int32]rune) rune {
	switch e.Kind {
	case "content":
		return symbols[e.ID]
	case "empty":
		return symbolEmpty
	case "metadata":
		return symbolMeta
	case "parity":
		return symbolParity
	case "overlap":
		return symbolOverlap
	case "lost":
		return symbolLost
	}
	return symbolGap
}
