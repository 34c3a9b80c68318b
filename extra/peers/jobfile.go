package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"blobio/cdf5"
)

// A job file is the input of the C peers: a case with the maps of all ranks, so that they need no tables. All numbers are
// 64-bit integers in the order of the host; a text is its length and its bytes.
//
//	"BLOBJOB2"
//	ranks, records, distinct records (0: all), flush, sync
//	number of dimensions;        each: name, length (0: unlimited)
//	number of global attributes; each: name, type, number of elements, the elements as in memory
//	number of maps;              each: number of dimensions, their ids
//	number of variables;         each: name, type in the file, type in memory, map (0: none), 1 if it
//	                             has records, number of dimensions, their ids, number of
//	                             attributes, the attributes
//	by map, by rank:             number of requests; each: offset, length
func (t *task) writeJobFile(name string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	e := &jobEncoder{w: w}
	e.job(t)
	if e.err != nil {
		return e.err
	}
	return w.Flush()
}

type jobEncoder struct {
	w   io.Writer
	b   []byte
	err error
}

func (e *jobEncoder) raw(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
}

func (e *jobEncoder) ints(vs ...int64) {
	e.b = e.b[:0]
	for _, v := range vs {
		e.b = binary.NativeEndian.AppendUint64(e.b, uint64(v))
	}
	e.raw(e.b)
}

func (e *jobEncoder) text(s string) {
	e.ints(int64(len(s)))
	e.raw([]byte(s))
}

func (e *jobEncoder) ids(ids []int) {
	e.ints(int64(len(ids)))
	for _, id := range ids {
		e.ints(int64(id))
	}
}

func (e *jobEncoder) atts(atts []cdf5.Att) {
	e.ints(int64(len(atts)))
	for i := range atts {
		a := &atts[i]
		e.text(a.Name)
		e.ints(int64(a.Type), a.Len())
		if s, ok := a.Value.(string); ok {
			e.raw([]byte(s))
			continue
		}
		b, _ := cdf5.Bytes(a.Value)
		e.raw(b)
	}
}

func (e *jobEncoder) job(t *task) {
	e.raw([]byte("BLOBJOB2"))
	sync := int64(0)
	if t.Sync {
		sync = 1
	}
	e.ints(int64(t.Ranks), t.Records, t.Distinct, t.Flush, sync)
	e.ints(int64(len(t.c.Dims)))
	for _, d := range t.c.Dims {
		e.text(d.Name)
		e.ints(d.Len)
	}
	e.atts(t.c.Atts)
	e.ints(int64(len(t.maps)))
	for _, ids := range t.c.MapDims {
		e.ids(ids)
	}
	e.ints(int64(len(t.c.Vars)))
	for i := range t.c.Vars {
		v := &t.c.Vars[i]
		file, mem := t.types(v)
		_, atts := v.FileType(t.Float)
		record := int64(0)
		if v.Record {
			record = 1
		}
		e.text(v.Name)
		e.ints(int64(file), int64(mem), int64(v.Map), record)
		e.ids(v.Dims)
		e.atts(atts)
	}
	for _, m := range t.maps {
		for r := range t.Ranks {
			e.ints(m.NumReqs(r))
			for q := range m.Reqs(r) {
				e.ints(q.Offset, q.Length)
			}
		}
	}
}
