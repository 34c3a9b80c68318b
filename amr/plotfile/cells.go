package plotfile

import (
	"bytes"
	"fmt"
	"strconv"
)

// Versions of Cell_H.
const (
	cellsV1       = 1 // FABs have headers, and each its extrema in Cell_H
	cellsNoHeader = 2 // FABs have no headers: one description stands in Cell_H
	cellsMinMax   = 3 // the same, with extrema
	cellsAll      = 4 // the same, with extrema of all grids together
)

// cellHeader is the rest of a file Cell_H: what is not in Grid.
type cellHeader struct {
	version  int
	fields   int
	ghosts   [3]int
	min, max [][]float64 // by grid and field; nil: not there
	form     *form       // of all FABs; nil: each has its own
	file     string
}

// parseCells reads a file Cell_H.
func parseCells(file string, b []byte, rank int) (*cellHeader, []Grid, error) {
	t := &text{file: file, b: b}
	c := &cellHeader{file: file}
	c.version = t.int("version", cellsV1, cellsAll)
	t.int("how", 0, 1)
	c.fields = t.int("number of fields", 0, maxFields)
	if t.next() == '(' {
		c.ghosts = t.vector("ghost cells", rank, 0, 1<<16)
	} else {
		n := t.int("ghost cells", 0, 1<<16)
		for a := range rank {
			c.ghosts[a] = n
		}
	}
	t.mark("number of grids", '(')
	n := t.int("number of grids", 0, len(b))
	t.word("hash", "(")
	var grids []Grid
	for i := 0; i < n && t.err == nil; i++ {
		grids = append(grids, Grid{Box: t.box(fmt.Sprintf("grid %d", i), rank)})
	}
	t.mark("grids", ')')
	t.int("number of FABs", n, n)
	for i := 0; i < n && t.err == nil; i++ {
		field := fmt.Sprintf("FAB %d", i)
		if w, at := t.word(field, ""); t.err == nil && w != "FabOnDisk:" {
			t.fail(at, field, ErrCorrupt, "%s, want FabOnDisk:", clip(w))
		}
		w, at := t.word(field, "")
		if t.err == nil && !localName(w) {
			t.fail(at, field, ErrCorrupt, "file %s, want a name", clip(w))
		}
		grids[i].File, grids[i].Offset = w, t.integer(field, "", 0, 1<<62)
	}
	if c.version == cellsV1 || c.version == cellsMinMax {
		c.min, c.max = t.extrema("minima", n, c.fields), t.extrema("maxima", n, c.fields)
	}
	if c.version == cellsAll {
		for _, name := range []string{"minima", "maxima"} {
			for i := 0; i < c.fields && t.err == nil; i++ {
				t.float(name, ",")
				t.mark(name, ',')
			}
		}
	}
	if c.version != cellsV1 && t.err == nil {
		t.space()
		line := &text{file: file, b: b[:lineEnd(b, t.at)], at: t.at}
		if c.form = line.form("form of the data"); line.err != nil {
			return nil, nil, line.err
		}
	}
	if t.err != nil {
		return nil, nil, t.err
	}
	return c, grids, nil
}

// extrema reads a table of numbers, a row for each grid. Some programs leave it out.
func (t *text) extrema(field string, grids, fields int) (out [][]float64) {
	if t.err != nil || !t.space() {
		return nil
	}
	t.integer(field, ",", int64(grids), int64(grids))
	t.mark(field, ',')
	t.integer(field, ",", int64(fields), int64(fields))
	for i := 0; i < grids && t.err == nil; i++ {
		var row []float64
		for k := 0; k < fields && t.err == nil; k++ {
			row = append(row, t.float(fmt.Sprintf("%s of grid %d", field, i), ","))
			t.mark(field, ',')
		}
		out = append(out, row)
	}
	return out
}

// encodeCells is a file Cell_H of version 1.
func encodeCells(grids []Grid, rank, fields int, min, max [][]float64) []byte {
	var w bytes.Buffer
	fmt.Fprintf(&w, "%d\n1\n%d\n0\n(%d 0\n", cellsV1, fields, len(grids))
	for i := range grids {
		fmt.Fprintln(&w, boxText(grids[i].Box, rank))
	}
	fmt.Fprintf(&w, ")\n%d\n", len(grids))
	for i := range grids {
		fmt.Fprintf(&w, "FabOnDisk: %s %d\n", grids[i].File, grids[i].Offset)
	}
	var b []byte
	for _, table := range [][][]float64{min, max} {
		fmt.Fprintf(&w, "\n%d,%d\n", len(grids), fields)
		for _, row := range table {
			b = b[:0]
			for _, x := range row {
				b = append(strconv.AppendFloat(b, x, 'e', 17, 64), ',')
			}
			w.Write(append(b, '\n'))
		}
	}
	w.WriteByte('\n')
	return w.Bytes()
}
