package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/amr/cello"
	"blobio/blob"
	"blobio/cdf5"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/comm"
	"blobio/decomp"
	"blobio/ffformat/ffstore"
	"blobio/internal/amr"
	"blobio/internal/cli"
	"blobio/versioned"
)

// flipVerb is a reader of files of a form: a command line, or a program that restarts. OUT stands for the output, WHOLE for the
// undamaged files.
type flipVerb struct {
	name string
	args []string
	do   func(t *testing.T) clitest.Result
}

// flipForm is a set of files with checksums, below a directory.
type flipForm struct {
	name  string
	files []string // files to damage
	verbs []flipVerb
}

// cmdVerbs makes verbs from command lines.
func cmdVerbs(lines ...string) (l []flipVerb) {
	for _, line := range lines {
		args := strings.Fields(line)
		name := args[0]
		if slices.Contains([]string{"amr", "ff", "versions", "scr"}, name) {
			name += " " + args[1]
		}
		l = append(l, flipVerb{name: name, args: args})
	}
	return l
}

// flipForms makes the forms in dir/whole. Verbs use copies in dir/work.
func flipForms(t *testing.T, dir string) (forms []flipForm) {
	whole := filepath.Join(dir, "whole")
	clitest.Check(t, os.Mkdir(whole, 0o777))
	at := func(name string) string { return filepath.Join(whole, name) }
	canon := clitest.Toy(t, dir)
	blobVerbs := func(name string) []flipVerb {
		return cmdVerbs("dump -p 9,17 "+name, "dump --json "+name, "convert --no-sync "+name+" OUT",
			"convert --no-sync --to variable-centric --ranks 2 "+name+" OUT", "convert --no-sync --to process-centric --compress zstd "+name+" OUT",
			"diff "+name+" WHOLE/"+name, "diff WHOLE/"+name+" "+name, "check "+name)
	}
	add := func(name string, verbs []flipVerb) {
		files := clitest.Glob(t, at(name)+"*")
		f := flipForm{name: name, verbs: verbs}
		for _, file := range files {
			clitest.Check(t, filepath.WalkDir(file, func(path string, d fs.DirEntry, err error) error {
				if info, ierr := os.Stat(path); ierr == nil && !d.IsDir() && info.Size() > 0 {
					rel, _ := filepath.Rel(whole, path)
					f.files = append(f.files, rel)
				}
				return err
			}))
		}
		if len(f.files) == 0 {
			t.Fatalf("%s has no files", name)
		}
		forms = append(forms, f)
	}
	clitest.Good(t, "convert", "--no-sync", "--to", "variable-centric", "--ranks", "3", "--subfiles", "2", canon, at("variable.nc"))
	add("variable.nc", blobVerbs("variable.nc"))
	clitest.Good(t, "convert", "--no-sync", "--to", "process-centric", "--ranks", "3", "--subfiles", "2", canon, at("process.h5"))
	add("process.h5", blobVerbs("process.h5"))
	clitest.Good(t, "convert", "--no-sync", "--to", "process-centric", "--compress", "shuffle+zstd", "--ranks", "3", "--subfiles", "2", canon, at("packed.h5"))
	add("packed.h5", blobVerbs("packed.h5"))
	for name, layout := range map[string]blob.Layout{"grown.nc": blob.VariableCentric, "grown.h5": blob.ProcessCentric} {
		clitest.Check(t, grow(t.Context(), at(name), layout))
	}
	add("grown.nc", blobVerbs("grown.nc"))
	add("grown.h5", blobVerbs("grown.h5"))

	store, key := clitest.VersionStore(t)
	clitest.Check(t, os.CopyFS(at("store"), os.DirFS(store)))
	clitest.Check(t, os.Rename(key, filepath.Join(dir, "key")))
	add("store", append(cmdVerbs("versions dump store/rho", "versions dump store/rho --version 1 -o OUT", "versions dump --key-file KEY store/n", "versions convert --no-sync store/rho OUT", "versions dump store/amr.level1",
		"versions dump store/amr.level0 --box 0 -o OUT", "versions dump store/amr.global --values", "versions diff store/rho --from 1 --to 3", "versions check --key-file KEY store/n", "versions check store"),
		flipVerb{name: "restart", do: func(t *testing.T) clitest.Result { return versionsRestart(t.Context(), "store") }}))

	clitest.Check(t, os.CopyFS(at("ckpts"), os.DirFS(clitest.FFStore(t))))
	ffVerbs := func(name, whole string) []flipVerb {
		return cmdVerbs("ff dump "+name+" -o OUT", "ff convert --no-sync --hash fast "+name+" OUT", "ff convert --no-sync --hash md5 "+name+" OUT", "ff diff "+name+" WHOLE/"+whole, "ff check "+name)
	}
	add("ckpts", append(append(ffVerbs("ckpts@5/1", "ckpts@5/1"), ffVerbs("ckpts@4/0", "ckpts@4/0")...),
		append(cmdVerbs("ff check ckpts"), flipVerb{name: "restart", do: func(t *testing.T) clitest.Result { return ffRestart(t.Context(), "ckpts") }})...))
	own := filepath.Join(dir, "own")
	clitest.Check(t, ownStore(t.Context(), own))
	for hash, name := range map[string]string{"md5": "md5.fti", "fast": "fast.fti"} { // files of FTI itself have ids without a checksum
		clitest.Good(t, "ff", "convert", "--no-sync", "--hash", hash, own, at(name))
	}
	add("md5.fti", ffVerbs("md5.fti", "md5.fti"))
	add("fast.fti", ffVerbs("fast.fti", "fast.fti"))

	amrVerbs := func(name string) []flipVerb {
		return cmdVerbs("amr convert --no-sync "+name+" OUT", "amr convert --no-sync --to cello "+name+" OUT", "amr convert --no-sync --to yt "+name+" OUT",
			"amr dump --json "+name+" 0", "amr dump --field density --json "+name+" 3", "amr check "+name)
	}
	clitest.Good(t, "amr", "gen", "uniform", "--no-sync", "--roots", "2", "--cells", "4", "--levels", "1", "--fields", "2", "--particles", "3", "--files", "2", at("Check"))
	add("Check", append(amrVerbs("Check"), flipVerb{name: "restart", do: func(t *testing.T) clitest.Result { return celloRestart(t.Context(), "Check") }}))

	clitest.Check(t, os.CopyFS(at("prefix"), os.DirFS(clitest.ScrSets(t, 2))))
	add("prefix", cmdVerbs("scr check prefix", "scr print prefix/.scr/index.scr", "scr print prefix/.scr/scr.dataset.1/summary.scr", "scr index --json prefix"))
	return forms
}

// grow writes a dataset of two ranks with one writer and two appends.
func grow(ctx context.Context, path string, layout blob.Layout) error {
	s := blob.NewSchema()
	tm, col := s.Dim("time", blob.Unlimited), s.Dim("ncol", 400)
	s.Var("T", cdf5.Double, []blob.DimID{tm, col}, blob.Decomposed(s.Decomp(col)))
	s.Var("time", cdf5.Double, []blob.DimID{tm})
	o := &blob.Options{Layout: layout, Durability: blob.DurableNone}
	for rec := range int64(3) {
		err := comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
			parts := []blob.Part{{Decomp: 1, Runs: []decomp.Req{{Offset: int64(200 * c.Rank()), Length: 200}}}}
			w, err := blob.Create(ctx, c, path, s, parts, o)
			if rec > 0 {
				w, err = blob.Append(ctx, c, path, nil, parts, o)
			}
			if err != nil {
				return err
			}
			x := make([]float64, 200)
			for i := range x {
				x[i] = float64(1000*rec+int64(200*c.Rank()+i)) / 8
			}
			err = errors.Join(blob.Put(w, 0, rec, x), blob.Put(w, 1, rec, []float64{float64(rec)}))
			return errors.Join(err, w.Close(ctx))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ownStore makes a store of one rank, with three variables.
func ownStore(ctx context.Context, dir string) error {
	return comm.Run(ctx, 1, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := ffstore.Open(ctx, c, dir, &ffstore.Options{Durability: ffstore.DurableNone})
		if err != nil {
			return err
		}
		for id, text := range []string{"state ", "of a ", "program "} {
			err = errors.Join(err, s.Protect(int32(id), []byte(strings.Repeat(text, 40))))
		}
		_, cerr := s.Checkpoint(ctx, 1)
		return errors.Join(err, cerr, s.Close(ctx))
	})
}

// restarted returns the result of a restarted program; told are the damage errors that it got.
func restarted(state string, told []error, err error) clitest.Result {
	r := clitest.Result{Out: state}
	for _, e := range told {
		r.Err += "warning: " + e.Error() + "\n"
	}
	if err != nil {
		r = clitest.Result{Code: cli.Findings, Out: "", Err: "blobio: " + err.Error()}
	}
	return r
}

func versionsRestart(ctx context.Context, dir string) clitest.Result {
	x := make([]float64, 24)
	err := comm.Run(ctx, 1, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := versioned.Open(ctx, c, &versioned.Store{Dir: dir}, "rho", &versioned.Options{Durability: versioned.DurableNone})
		if err != nil {
			return err
		}
		return errors.Join(versioned.Get(ctx, a, []int64{0, 0, 0}, []int64{2, 3, 4}, x), a.Close(ctx))
	})
	return restarted(fmt.Sprint(x), nil, err)
}

func ffRestart(ctx context.Context, dir string) clitest.Result {
	var data [2][1000]byte
	var id int32
	var skipped []error
	err := comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := ffstore.Open(ctx, c, dir, &ffstore.Options{Keep: 2, Durability: ffstore.DurableNone})
		if err != nil {
			return err
		}
		defer s.Close(ctx)
		if err := s.Protect(7, data[c.Rank()][:]); err != nil {
			return err
		}
		n, skip, err := s.Recover(ctx)
		if c.Rank() == 0 {
			id, skipped = n, skip
		}
		return err
	})
	return restarted(fmt.Sprint(id, data), skipped, err)
}

// restorer keeps restored data as text.
type restorer struct{ strings.Builder }

func (r *restorer) Create(context.Context, int, []cello.BlockInfo) error { return nil }
func (r *restorer) LevelDone(_ context.Context, level, n, m int) error {
	fmt.Fprintln(r, level, n, m)
	return nil
}
func (r *restorer) Data(_ context.Context, b *amr.Block) error {
	x := *b
	for _, f := range b.Fields {
		fmt.Fprintf(r, "%+v %v %x\n", *f.Spec, f.Ghosts, f.Data)
	}
	for _, p := range b.Particles {
		spec := p.Spec
		p.Spec = nil
		fmt.Fprintf(r, "%+v %+v\n", *spec, p)
	}
	x.Fields, x.Particles = nil, nil
	fmt.Fprintf(r, "%+v\n", x)
	return nil
}

func celloRestart(ctx context.Context, dir string) clitest.Result {
	var r restorer
	err := cello.Restart(ctx, comm.Self(), dir, &r, nil)
	return restarted(r.String(), nil, err)
}
