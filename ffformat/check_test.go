package ffformat

import (
	"blobio/internal/base/fault"
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestCheckVectors: every undamaged vector is sound, with two exceptions: checkpoint 7 from v1.3 on has the writer's checksum,
// and the file of v1.2 is too short.
func TestCheckVectors(t *testing.T) {
	dir, m := vectors(t)
	for name, e := range m {
		b := readVector(t, dir, name)
		writerOnly := e.ChecksumRules["cs_all_stored_hashes"] && !e.ChecksumRules["cs_content_only"]
		short := e.FB != nil && e.FB.Fs > e.Size
		for _, quick := range []bool{false, true} {
			got := findings(t, b, path.Base(name), &Options{Quick: quick})
			var want int
			for _, f := range got {
				switch {
				case f.Severity == fault.Warning && f.Field == "FB.checksum" && strings.Contains(f.Msg, "only the writer's rule") && writerOnly:
					want++
				case f.Severity == fault.Note && f.Field == "FB.fs" && short:
					want++
				default:
					t.Errorf("%s: %v", name, f)
				}
			}
			if (want > 0) != (writerOnly || short) {
				t.Errorf("%s (quick %v): %v", name, quick, got)
			}
		}
	}
}

// badVars returns the ids of the variables that Check reports as bad, ascending.
func badVars(fs []Finding) []int32 {
	ids := []int32{}
	for _, f := range fs {
		if id, ok := f.Var.Get(); ok && f.Severity >= Error {
			ids = append(ids, int32(id))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// damagedVectors are the torn and buggy files, with their lost variables, expected findings, and numbers of readable variables.
var damagedVectors = []struct {
	name string
	bad  []int32
	says string // text of one finding; "": no findings
	good int
}{
	{"torn/cp1-complete", nil, "", 3},
	{"torn/cp2-complete", nil, "", 4},
	{"torn/cp4-complete", nil, "", 5},
	{"torn/cp5-complete", nil, "", 5},
	{"torn/cp6-complete", nil, "", 5},
	{"torn/during-cp2-before-write2", []int32{1}, "defect 3", 2},
	{"torn/during-cp3-before-write3", []int32{1, 2}, "defect 3", 2},
	{"torn/during-cp3-before-write9", nil, "torn before the metadata were written", 0},
	{"torn/during-cp5-before-write1", nil, "", 5},
	{"torn/during-cp5-before-write4", []int32{2}, "defect 3", 4},
	{"torn/during-cp6-before-write3", []int32{2}, "defect 3", 4},
	{"torn/during-cp6-before-write8", nil, "torn before the metadata were written", 0},
	{"torn/during-cp7-before-write2", []int32{1}, "defect 3", 4},
	{"torn/during-cp7-before-write6", []int32{1, 2, 3}, "defect 3", 2},
	{"bugs/dcp-crc32-collision-stale-block", []int32{1}, "defect 5", 0},
	{"bugs/dcp-shrink-to-block-multiple-cp7", []int32{2, 3}, "defect 4", 3},
	{"bugs/l1-after-dcp-25pct-dirty-holes", []int32{1, 2}, "defect 2", 0},
	{"bugs/l1-after-dcp-unchanged-all-holes", []int32{1, 2}, "defect 2", 0},
}

// TestTornAndBugs: Check gives the findings named in the README of the vectors, and ReadVars still reads every other variable.
func TestTornAndBugs(t *testing.T) {
	dir, _ := vectors(t)
	for _, v := range damagedVectors {
		b := readVector(t, dir, v.name+".fti")
		got := findings(t, b, v.name, nil)
		if ids := badVars(got); !slices.Equal(ids, v.bad) {
			t.Errorf("%s: bad variables %v, want %v", v.name, ids, v.bad)
		}
		says := v.says == "" && len(got) == 0
		for _, f := range got {
			says = says || v.says != "" && strings.Contains(f.Msg, v.says)
		}
		if !says {
			t.Errorf("%s: want %q, got %v", v.name, v.says, got)
		}
		if n := readGood(t, b, v.name, v.bad); n != v.good {
			t.Errorf("%s: %d variables can be read, want %d", v.name, n, v.good)
		}
	}
}

// readGood reads all variables and checks that only the bad ones fail.
func readGood(t *testing.T, b []byte, name string, bad []int32) int {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), name, &Options{Lenient: true})
	if err != nil {
		return 0
	}
	vars := r.File().Vars()
	bufs := make([]VarBuf, len(vars))
	for i, v := range vars {
		bufs[i] = VarBuf{v.ID, make([]byte, v.Size)}
	}
	err = r.ReadVars(context.Background(), bufs, nil)
	ids := BadVars(err)
	slices.Sort(ids)
	if !slices.Equal(ids, bad) {
		t.Errorf("%s: ReadVars %v, want %v bad", name, err, bad)
	}
	return len(vars) - len(ids)
}

func TestCheckStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, b := build(t, LayoutF, MD5, 0, seven)
	var got []Finding
	for f := range Check(ctx, bytes.NewReader(b), int64(len(b)), "", nil) {
		if f.Severity != fault.Note {
			got = append(got, f)
		}
	}
	if len(got) != 1 || !errors.Is(got[0].Err, context.Canceled) {
		t.Error(got)
	}
	clear(b[:500])
	for range Check(t.Context(), bytes.NewReader(b), int64(len(b)), "", nil) {
		break
	}
}
