package redset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
)

// dropSums removes the checksum files, because the original SCR does not write them.
func (cl *cluster) dropSums(t testing.TB) {
	n := 0
	for name := range fromMem(t, cl.fs, ".") {
		if !strings.HasSuffix(name, ".redsum") && !strings.HasSuffix(name, ".sum") {
			continue
		}
		must(t, cl.fs.Remove(name))
		n++
	}
	if n != cl.n {
		t.Fatalf("%d files of checksums, want %d", n, cl.n)
	}
}

// TestDefect1NoChecksums tests sets without checksums, as the original SCR makes them. A flipped byte must be detected if there
// is a spare element, and repaired if there are two. Without a flipped byte the files must not change.
func TestDefect1NoChecksums(t *testing.T) {
	for _, o := range schemes {
		spare := 1
		switch o.Scheme {
		case RS:
			spare = o.K
		case Partner:
			spare = max(1, o.Replicas)
		}
		for m, mode := range []string{"shared", "isolated"} {
			for lost := 0; lost <= spare; lost++ {
				for i, where := range []string{"", "data", "second", "payload"} {
					if !crashtest.Long() && (m+lost+i)%2 != 0 {
						continue
					}
					what := fmt.Sprintf("%s gen %v %s lost %d flipped %s", o.label(), o.Generation, mode, lost, where)
					cl := newCluster(t, o, even[:5])
					must(t, cl.encode("shared", cl.own))
					cl.dropSums(t)
					whole := fromMem(t, cl.fs, ".")
					all, err := list(cl.fs, "n3/rs.")
					if err != nil || len(all) != 1 {
						t.Fatal(all, err)
					}
					for r := range lost { // losing neighbours is the worst case for copies
						cl.lose(t, r)
					}
					switch where {
					case "data":
						flip(t, cl.fs, "n4/f0", 100)
					case "second":
						flip(t, cl.fs, "n3/f1", 10)
					case "payload":
						flip(t, cl.fs, all[0].name, int64(len(whole[all[0].name])-1))
					}
					before := fromMem(t, cl.fs, ".")
					_, err = cl.recover(mode, cl.own)
					got := fromMem(t, cl.fs, ".")
					var doubt *DoubtError
					switch {
					case err == nil && where == "":
						same(t, got, whole)
					case err == nil:
						// The byte was repaired, or the wrong element cannot be identified.
						if left := spare - lost; left >= 2 || left == 1 && o.SetSize >= 5 {
							same(t, got, whole)
						}
					case errors.Is(err, fault.ErrMissing) && lost > 1: // the sets have different sizes
						same(t, got, before)
					case where == "" || !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "silent corruption"):
						t.Errorf("%s: %v", what, err)
					default:
						if as(err, &doubt) && len(doubt.Ranks) < 2 { // ranks of other sets may get only the text of the error
							t.Errorf("%s: %+v", what, doubt)
						}
						same(t, got, before)
					}
					if lost == 0 && spare == 1 && where != "" && err == nil {
						t.Errorf("%s: not found", what)
					}
					if lost == 0 && spare >= 2 && err != nil {
						t.Errorf("%s: %v, want it mended", what, err)
					}
					if t.Failed() {
						t.Fatal(what)
					}
				}
			}
		}
	}
}

// TestSure checks that a caller that knows the checksums of files can skip the comparison.
func TestSure(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, even[:5])
	must(t, cl.encode("shared", cl.own))
	cl.dropSums(t)
	flip(t, cl.fs, "n2/f0", 100)
	before := fromMem(t, cl.fs, ".")
	for _, sure := range []bool{true, false} {
		err := cl.run("shared", func(ctx context.Context, c comm.Comm) error {
			_, err := Recover(ctx, c, cl.fs, fmt.Sprintf("n%d/rs.", c.Rank()), &RecoverOptions{Sure: sure})
			return err
		})
		if sure != (err == nil) {
			t.Errorf("sure %v: %v", sure, err)
		}
		same(t, fromMem(t, cl.fs, "."), before)
	}
}

// TestCompare checks that files that disagree are reported, by name if there are two spare elements, and that nothing changes.
func TestCompare(t *testing.T) {
	for _, o := range schemes {
		named := o.Scheme == RS && o.K >= 2 || o.Replicas >= 2
		for _, where := range []string{"", "data", "payload", "lost"} {
			cl := newCluster(t, o, even[:4])
			must(t, cl.encode("shared", cl.own))
			cl.dropSums(t)
			all, err := list(cl.fs, "n3/rs.")
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			bad := ""
			switch where {
			case "data":
				bad = "n1/f1"
				flip(t, cl.fs, bad, 100)
			case "payload":
				bad = all[0].name
				flip(t, cl.fs, bad, int64(len(fromMem(t, cl.fs, ".")[bad])-1))
			case "lost":
				cl.lose(t, 1)
			}
			var at []Held
			for r := range cl.n {
				at = append(at, Held{FS: cl.fs, Prefix: fmt.Sprintf("n%d/rs.", r)})
			}
			before := fromMem(t, cl.fs, ".")
			got, err := Compare(context.Background(), at)
			same(t, fromMem(t, cl.fs, "."), before)
			what := fmt.Sprintf("%s gen %v, flipped %s: %+v, %v", o.label(), o.Generation, where, got, err)
			var doubt *DoubtError
			switch {
			case where == "lost" && o.Generation == GenC: // nothing can be compared
				if err != nil || len(got.Wrong) != 0 {
					t.Error(what)
				}
			case where == "lost":
			case where == "":
				if err != nil || got.Sets == 0 || got.Others != 0 || len(got.Wrong) != 0 {
					t.Error(what)
				}
			case named:
				if err != nil || len(got.Wrong) == 0 || got.Wrong[len(got.Wrong)-1].Name != bad {
					t.Error(what)
				}
			case !as(err, &doubt):
				t.Error(what)
			}
		}
	}
}

// TestVectorsAgree checks that the files and the redundancy that the original redset wrote agree. With two spare elements of
// RS, a wrong byte must be repaired.
func TestVectorsAgree(t *testing.T) {
	for _, v := range vectorCases {
		want := load(t, testfiles.Dir(t, "redset", v.name, "orig"))
		fsys := toMem(t, want)
		got, err := Compare(context.Background(), []Held{{FS: fsys, Prefix: "rs."}})
		if single := strings.HasPrefix(v.name, "single"); err != nil || len(got.Wrong) != 0 || (got.Sets > 0) == single || (got.Others > 0) != single {
			t.Errorf("%s: %+v, %v", v.name, got, err)
		}
		if !strings.HasPrefix(v.name, "rs") {
			continue
		}
		for name, b := range want {
			if !strings.HasPrefix(name, "data/") || len(b) == 0 {
				continue
			}
			flip(t, fsys, name, int64(len(b)/2))
			rep, err := Offline(context.Background(), fsys, "rs.", nil)
			if err != nil || len(rep.Corrupt) == 0 {
				t.Fatalf("%s: %+v, %v", name, rep, err)
			}
			same(t, fromMem(t, fsys, "."), want)
		}
	}
}
