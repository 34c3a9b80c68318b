package ffstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"reflect"
	"strings"
	"testing"

	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

func sampleRecord() *record {
	return &record{
		SealHead: records.Head(7), Ranks: 2, Layout: "F", Hash: "md5", Slots: 3,
		Checkpoints: []entry{
			{ID: 3, Slot: 2, Time: 5, Data: 10, Files: 20, Vars: 2, Sums: bytes.Repeat([]byte{1}, 16)},
			{ID: 9, Slot: 0, Time: 6, Data: 10, Files: 20, Vars: 2, Sums: bytes.Repeat([]byte{2}, 16)},
		},
		Spares: []entry{{ID: 2, Slot: 1, Time: 4, Data: 10, Files: 20, Vars: 2, Sums: bytes.Repeat([]byte{3}, 16)}},
	}
}

// TestRecordFaults: records with one fault each give the right error class.
func TestRecordFaults(t *testing.T) {
	good, err := sampleRecord().encode()
	must(t, err)
	if r, err := decodeRecord(good, "r"); err != nil || !reflect.DeepEqual(r, sampleRecord()) {
		t.Fatalf("%+v, %v", r, err)
	}
	for i := range good {
		if _, err := decodeRecord(good[:i], "r"); err == nil {
			t.Fatalf("cut at %d", i)
		}
		b := bytes.Clone(good)
		b[i] ^= 0x10
		if _, err := decodeRecord(b, "r"); err == nil {
			t.Fatalf("bit at %d", i)
		}
	}
	for what, f := range map[string]func(r *record) error{
		"version":     func(r *record) error { r.Ver = 2; return fault.ErrVersion },
		"format":      func(r *record) error { r.Format = "x"; return fault.ErrNotFormat },
		"seq":         func(r *record) error { r.Seq = 0; return fault.ErrCorrupt },
		"ranks":       func(r *record) error { r.Ranks = 0; return fault.ErrCorrupt },
		"many ranks":  func(r *record) error { r.Ranks = maxRanks + 1; return fault.ErrCorrupt },
		"layout":      func(r *record) error { r.Layout = "Z"; return fault.ErrCorrupt },
		"hash":        func(r *record) error { r.Hash = "sha"; return fault.ErrCorrupt },
		"slots":       func(r *record) error { r.Slots = 66; return fault.ErrCorrupt },
		"one slot":    func(r *record) error { r.Slots = 1; return fault.ErrCorrupt },
		"none free":   func(r *record) error { r.Slots = 2; return fault.ErrCorrupt },
		"id":          func(r *record) error { r.Checkpoints[0].ID = 0; return fault.ErrCorrupt },
		"order":       func(r *record) error { r.Checkpoints[0].ID = 9; return fault.ErrCorrupt },
		"slot":        func(r *record) error { r.Checkpoints[0].Slot = 3; return fault.ErrCorrupt },
		"same slot":   func(r *record) error { r.Checkpoints[0].Slot = 0; return fault.ErrCorrupt },
		"negative":    func(r *record) error { r.Checkpoints[0].Slot = -1; return fault.ErrCorrupt },
		"data":        func(r *record) error { r.Checkpoints[1].Data = -1; return fault.ErrCorrupt },
		"spare slot":  func(r *record) error { r.Spares[0].Slot = r.Checkpoints[0].Slot; return fault.ErrCorrupt },
		"spare out":   func(r *record) error { r.Spares[0].Slot = r.Slots; return fault.ErrCorrupt },
		"spare newer": func(r *record) error { r.Spares[0].ID = r.Checkpoints[1].ID + 1; return fault.ErrCorrupt },
		"spare sums":  func(r *record) error { r.Spares[0].Sums = nil; return fault.ErrCorrupt },
		"sums":        func(r *record) error { r.Checkpoints[1].Sums = nil; return fault.ErrCorrupt },
		"sums, ranks": func(r *record) error { r.Ranks = 3; return fault.ErrCorrupt },
	} {
		r := sampleRecord()
		want := f(r)
		b, err := r.encode()
		must(t, err)
		var fe *fault.FormatError
		if _, err := decodeRecord(b, "r"); !errors.Is(err, want) || !errors.As(err, &fe) || fe.File != "r" {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
}

// FuzzRecord: decodeRecord accepts only records within bounds, and encoding such a record and decoding it
// again gives the same record.
func FuzzRecord(f *testing.F) {
	good, err := sampleRecord().encode()
	must(f, err)
	f.Add(good[:bytes.IndexByte(good, '\n')])
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"format":"blobio ff checkpoints","version":1,"seq":1,"ranks":2,"layout":"A","hash":"md5","slots":7,"checkpoints":[],"spares":[]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		b := append(bytes.ReplaceAll(line, []byte("\n"), nil), '\n')
		b = fmt.Appendf(b, "crc32 %08x\n", crc32.ChecksumIEEE(b)) // a right checksum, so that the fuzzer reaches the fields
		r, err := decodeRecord(b, "r")
		if err != nil {
			return
		}
		for i := range r.Checkpoints {
			for rank := range min(r.Ranks, 3) {
				r.Checkpoints[i].forRank(rank)
			}
		}
		r.list()
		c, err := r.encode()
		must(t, err)
		if len(r.Spares) == 0 { // an empty list of spares is not written
			r.Spares = nil
		}
		if s, err := decodeRecord(c, "r"); err != nil || !reflect.DeepEqual(r, s) {
			t.Fatalf("%+v, %+v, %v", r, s, err)
		}
	})
}

func sampleLog() []byte {
	e := epochs{3, 1, 0, 7}
	b := e.front()
	b = appendRecord(b, rankSlot{0, 0}, 1, 2, []byte("old"))
	b = appendRecord(b, rankSlot{0, 0}, 3, 3, []byte("new"))
	b = appendRecord(b, rankSlot{1, 0}, 3, 3, nil)
	b = appendRecord(b, rankSlot{1, 1}, 2, 1, bytes.Repeat([]byte("payload"), 20))
	return appendRecord(b, rankSlot{1, 1}, 4, 2, []byte("of an epoch that never was"))
}

// TestLogScan: only records with the epoch of their slot are valid, wherever the file is truncated.
func TestLogScan(t *testing.T) {
	b := sampleLog()
	mem := vfs.NewMem()
	for n := 0; n <= len(b); n++ {
		writeAll(t, mem, "l", b[:n])
		f, err := mem.Open("l")
		must(t, err)
		s, err := scanLog(f)
		f.Close()
		if n < logFront {
			if !errors.Is(err, fault.ErrTruncated) {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		if err != nil || s.end > int64(n) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		for k, l := range s.valid {
			if l.off+l.size > int64(n) || k == (rankSlot{0, 0}) && l.id != 3 || k == (rankSlot{1, 1}) && l.id != 2 {
				t.Fatalf("cut at %d: %v %+v", n, k, l)
			}
		}
		if n == len(b) && (len(s.valid) != 3 || s.end != int64(n)) {
			t.Fatalf("%+v", s)
		}
	}
}

func scanOf(t *testing.T, b []byte) (*scanned, error) {
	t.Helper()
	mem := vfs.NewMem()
	writeAll(t, mem, "l", b)
	f, err := mem.Open("l")
	must(t, err)
	defer f.Close()
	return scanLog(f)
}

// TestLogEveryBit: a wrong bit in the front is an error. A wrong bit in a record ends the list of valid
// records.
func TestLogEveryBit(t *testing.T) {
	b := sampleLog()
	whole, err := scanOf(t, b)
	if err != nil || whole.end != int64(len(b)) {
		t.Fatal(whole, err)
	}
	for at := range b {
		for bit := range 8 {
			b[at] ^= 1 << bit
			s, err := scanOf(t, b)
			b[at] ^= 1 << bit
			var fe *fault.FormatError
			if at < logFront && !errors.As(err, &fe) || at >= logFront && (err != nil || s.end > int64(at)) {
				t.Fatalf("byte %d bit %d: %+v, %v", at, bit, s, err)
			}
		}
	}
}

// TestLogReplaced: after a power loss, a log that was replaced does not reappear.
func TestLogReplaced(t *testing.T) {
	mem := vfs.NewMem()
	for k := range uint32(2) {
		l := &nodeLog{fsys: mem, name: "l", epochs: epochs{k}}
		must(t, l.rewrite(nil))
		s, err := scanOf(t, readAll(t, mem.CrashClone(vfs.CrashOptions{}), "l"))
		if err != nil || s.epochs[0] != k {
			t.Errorf("epoch %d: %+v, %v", k, s, err)
		}
	}
}

// TestLogFailedAppend: the remains of a failed append are ignored.
func TestLogFailedAppend(t *testing.T) {
	mem, failing, errSync := vfs.NewMem(), false, errors.New("not synced")
	l := &nodeLog{name: "l", d: DurableCommit, fsys: vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && failing {
			return errSync
		}
		return nil
	})}
	one := appendRecord(nil, rankSlot{0, 0}, 1, 0, []byte("one"))
	must(t, l.rewrite(nil))
	failing = true
	if err := l.write(appendRecord(one, rankSlot{1, 0}, 1, 0, []byte("two"))); !errors.Is(err, errSync) {
		t.Fatal(err)
	}
	failing = false
	must(t, l.write(one))
	s, err := scanOf(t, readAll(t, mem, "l"))
	if err != nil || len(s.ranks) != 1 || !s.ranks[0] || s.end != logFront+int64(len(one)) {
		t.Errorf("%+v, %v", s, err)
	}
}

// FuzzLog: scanning arbitrary bytes does not panic, and each record that is accepted as valid lies within
// the file.
func FuzzLog(f *testing.F) {
	f.Add(sampleLog(), true)
	f.Add(sampleLog()[:logFront+50], false)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, b []byte, mend bool) {
		if mend && len(b) > logFront { // right checksums, so that the fuzzer reaches the records
			var e epochs
			for i := range e {
				e[i] = uint32(b[8+4*i])
			}
			b = append(e.front(), b[logFront:]...)
		}
		mem := vfs.NewMem()
		writeAll(t, mem, "l", b)
		h, err := mem.Open("l")
		must(t, err)
		defer h.Close()
		s, err := scanLog(h)
		if err != nil {
			if !errors.As(err, new(*fault.FormatError)) {
				t.Fatal(err)
			}
			return
		}
		for k, l := range s.valid {
			p, err := l.payload(h)
			if err != nil || k.slot > maxKeep || l.off+l.size > int64(len(b)) {
				t.Fatalf("%v %+v %v", k, l, err)
			}
			digestsOf(appendRecord(nil, k, l.id, 0, p), "l")
		}
	})
}

// TestDocument: the record shown in docs/format-fti-store.md is valid.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../docs/format-fti-store.md")
	must(t, err)
	i := bytes.Index(b, []byte(`{"format":`))
	if i < 0 {
		t.Fatal("no record")
	}
	r, err := decodeRecord(b[i:i+bytes.Index(b[i:], []byte("```"))], "the document")
	must(t, err)
	if len(r.Checkpoints) != 1 || r.Checkpoints[0].ID != 12 {
		t.Errorf("%+v", r)
	}
}

// TestSideFileBytes: the side file matches the tables of docs/format-fti-store.md.
func TestSideFileBytes(t *testing.T) {
	doc, err := os.ReadFile("../../docs/format-fti-store.md")
	must(t, err)
	mem := vfs.NewMem()
	m := mode{ranks: 2, diff: true}
	m.steps(t, mem, 1, 3) // checkpoints 1, 2, 3 go to slots 0, 1, 0
	b := readAll(t, mem, nodeLogName("d", 0))
	le := binary.LittleEndian
	type field struct {
		off, n int
		name   string
		want   uint64
	}
	at := 0 // offset of the part that is being compared
	look := func(part string, fields []field) {
		t.Helper()
		for _, f := range fields {
			if row := fmt.Sprintf("| %d | %d | %s |", f.off, f.n, f.name); !strings.Contains(string(doc), row) {
				t.Errorf("the document has no %q", row)
			}
			var p [8]byte
			copy(p[:], b[at+f.off:at+f.off+f.n])
			if got := le.Uint64(p[:]); got != f.want {
				t.Errorf("%s: %s is %#x, want %#x", part, f.name, got, f.want)
			}
		}
	}
	text := func(s string) uint64 { var p [8]byte; copy(p[:], s); return le.Uint64(p[:]) }
	look("front", []field{{0, 4, "magic", text("FFDL")}, {4, 4, "version", 1}, {268, 4, "CRC-32", uint64(crc32.ChecksumIEEE(b[:268]))}})
	if row := "| 8 | 4 x 65 | epochs |"; !strings.Contains(string(doc), row) || 8+4*65 != 268 {
		t.Errorf("the document has no %q", row)
	}
	for k := range 65 {
		if e := le.Uint32(b[8+4*k:]); e != []uint32{2, 1, 0}[min(k, 2)] {
			t.Errorf("epoch of slot %d is %d", k, e)
		}
	}
	at = 272
	for i := range 6 { // records of three checkpoints on two ranks
		if len(b) < at+32 {
			t.Fatalf("%d records", i)
		}
		n := int(le.Uint64(b[at+20:]))
		crc := crc32.Update(crc32.ChecksumIEEE(b[at:at+28]), crc32.IEEETable, b[at+32:at+32+n])
		look(fmt.Sprintf("record %d", i), []field{
			{0, 4, "magic", text("FFDR")}, {4, 1, "slot", uint64([]int{0, 1, 0}[i/2])}, {8, 4, "rank", uint64(i % 2)}, {12, 4, "checkpoint id", uint64(1 + i/2)},
			{16, 4, "epoch", uint64([]int{1, 1, 2}[i/2])}, {20, 8, "n", uint64(n)}, {28, 4, "CRC-32", uint64(crc)},
		})
		if !bytes.Equal(b[at+5:at+8], []byte{0, 0, 0}) || !strings.Contains(string(doc), "| 5 | 3 | | zeros |") || !strings.Contains(string(doc), "| 32 | n | payload |") {
			t.Error("no zeros, or no such rows")
		}
		file := readAll(t, mem, fileName("d", 0, i%2))
		f, err := ffformat.Decode(bytes.NewReader(file), int64(len(file)), "", nil)
		must(t, err)
		containers := 0
		for _, bl := range f.Blocks {
			containers += len(bl.Containers)
		}
		at += 32
		third := ffformat.OwnTime(testTime.UnixNano()) + 2<<16
		if i >= 4 { // records of slot 0's content
			look("payload", []field{
				{0, 8, "magic", text("BLOBIOFD")}, {8, 4, "version", 1}, {12, 1, "hash of blocks", 0}, {13, 1, "hash of chunks", 0}, {16, 4, "block size", 512},
				{20, 4, "checkpoint id", 3}, {24, 8, "timestamp", uint64(third)}, {48, 8, "containers", uint64(containers)},
			})
			sum, err := f.MetaSum()
			must(t, err)
			if !bytes.Equal(b[at+32:at+48], sum[:]) || !strings.Contains(string(doc), "| 32 | 16 | metadata |") {
				t.Errorf("sum of the metadata %x, want %x", b[at+32:at+48], sum)
			}
			p := at + 56
			for _, bl := range f.Blocks {
				for _, c := range bl.Containers {
					if le.Uint32(b[p:]) != uint32(c.ID) || le.Uint32(b[p+4:]) != uint32(c.ContainerID) || le.Uint64(b[p+8:]) != uint64(c.ChunkSize) || c.HasContent && !bytes.Equal(b[p+16:p+32], c.Hash[:]) {
						t.Errorf("container %+v: %x", c, b[p:p+32])
					}
					p += 32 + 16*int((c.ChunkSize+511)/512)
				}
			}
			if p+4 != at+n || le.Uint32(b[p:]) != crc32.ChecksumIEEE(b[at:p]) {
				t.Errorf("containers end at %d, the payload at %d", p, at+n)
			}
		}
		at += n
	}
	if at != len(b) {
		t.Errorf("%d bytes behind the records", len(b)-at)
	}
}
