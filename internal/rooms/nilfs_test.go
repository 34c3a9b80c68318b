package rooms

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"path/filepath"
	"testing"

	"blobio/amr/cello"
	"blobio/blob"
	"blobio/comm"
	"blobio/ffformat"
	"blobio/ffformat/ffstore"
	"blobio/scr/check"
	"blobio/scr/config"
	"blobio/scr/kvtree"
	"blobio/scr/redset"
	"blobio/subfile"
	"blobio/versioned"
)

// nilFS calls whatever takes a file system or a file without one, for a name that is not there.
var nilFS = map[string]func(ctx context.Context, name string) error{
	"kvtree.CheckLocks":     func(_ context.Context, name string) error { return kvtree.CheckLocks(nil, name, kvtree.Flock) },
	"kvtree.Locked":         func(_ context.Context, name string) error { return second(kvtree.Locked(nil, name, kvtree.Flock)) },
	"kvtree.ReadFile":       func(_ context.Context, name string) error { return second(kvtree.ReadFile(nil, name, nil)) },
	"kvtree.ReadFileRecord": func(_ context.Context, name string) error { return second(kvtree.ReadFileRecord(nil, name, nil)) },
	"kvtree.ReadLocked":     func(ctx context.Context, name string) error { return second(kvtree.ReadLocked(ctx, nil, name, nil)) },
	"kvtree.Update": func(ctx context.Context, name string) error {
		return kvtree.Update(ctx, nil, name, nil, func(*kvtree.Tree) error { return nil })
	},
	"kvtree.WriteFile": func(_ context.Context, name string) error { return kvtree.WriteFile(nil, name, kvtree.New()) },

	"config.Sources": func(_ context.Context, _ string) error {
		return second(config.Load(config.Sources{Environ: []string{}}))
	},
	"scr.Config": nil, // its own tests
	"check.Caches": func(ctx context.Context, name string) error {
		return finding(check.Caches(ctx, []check.Node{{Catalog: name}}, nil))
	},

	"blob.OpenOptions": func(ctx context.Context, name string) error {
		return second(blob.Open(ctx, name, &blob.OpenOptions{}))
	},
	"blob.NewWatch": func(_ context.Context, name string) error { return second(blob.NewWatch(nil, name).Look()) },
	"blob.CheckOptions": func(ctx context.Context, name string) error {
		return finding(blob.Check(ctx, name, &blob.CheckOptions{}))
	},

	"redset.Compare": func(ctx context.Context, name string) error {
		return second(redset.Compare(ctx, []redset.Held{{Prefix: name}}))
	},
	"redset.Drop":  func(_ context.Context, name string) error { return redset.Drop(nil, name, 0) },
	"redset.Files": func(_ context.Context, name string) error { return second(redset.Files(nil, name, 0)) },
	"redset.Held":  nil, // Compare
	"redset.Offline": func(ctx context.Context, name string) error {
		return second(redset.Offline(ctx, nil, name, nil))
	},
	"redset.ReadPayload": func(_ context.Context, name string) error {
		return second(redset.ReadPayload(nil, name, name))
	},
	"redset.Recover": func(ctx context.Context, name string) error {
		return comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
			return second(redset.Recover(ctx, c, nil, name, nil))
		})
	},
	"redset.Set.Encode": func(ctx context.Context, name string) error {
		return comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
			s, err := redset.New(ctx, c, redset.Options{Scheme: redset.Partner, Group: string(rune('a' + c.Rank()))})
			if err != nil {
				return err
			}
			return s.Encode(ctx, nil, []string{name}, name)
		})
	},

	"subfile.CreateLog": func(_ context.Context, name string) error {
		l, err := subfile.CreateLog(nil, name, "w00000001")
		return errors.Join(err, l.Close())
	},
	"subfile.DropNext": func(_ context.Context, name string) error { return subfile.DropNext(nil, name, "") },
	"subfile.Find":     func(_ context.Context, name string) error { return second(subfile.Find(nil, name)) },
	"subfile.Finish": func(_ context.Context, name string) error {
		return subfile.Finish(nil, name, &subfile.Manifest{}, true, subfile.By{})
	},
	"subfile.Fold": func(_ context.Context, name string) error {
		return second(subfile.Fold(nil, name, &subfile.Manifest{}, true, subfile.By{}))
	},
	"subfile.Logs": func(_ context.Context, name string) error { return second(subfile.Logs(nil, name)) },
	"subfile.Pool.Keep": func(_ context.Context, name string) error {
		p := subfile.NewPool(nil, 0)
		f, err := p.FS().Open(name)
		if err != nil {
			return err
		}
		return errors.Join(p.Keep(name, f), p.Close())
	},
	"subfile.List":     func(_ context.Context, name string) error { return second(subfile.List(nil, name)) },
	"subfile.ListAll":  func(_ context.Context, name string) error { return second(subfile.ListAll(nil, name)) },
	"subfile.NewPool":  func(_ context.Context, name string) error { return second(subfile.NewPool(nil, 1).Get(name, false)) },
	"subfile.Partials": func(_ context.Context, name string) error { return second(subfile.Partials(nil, name)) },
	"subfile.Peek":     func(_ context.Context, name string) error { _, _, err := subfile.Peek(nil, name); return err },
	"subfile.ReadState": func(_ context.Context, name string) error {
		return second(subfile.ReadState(nil, name))
	},
	"subfile.Records": func(_ context.Context, name string) error { return second(subfile.Records(nil, name)) },
	"subfile.Recover": func(_ context.Context, name string) error { return second(subfile.Recover(nil, name, subfile.By{})) },
	"subfile.Rehome": func(_ context.Context, name string) error {
		return subfile.Rehome(nil, name, &subfile.Manifest{}, subfile.By{}, true)
	},
	"subfile.RemoveStale": func(_ context.Context, name string) error {
		return subfile.RemoveStale(nil, name, &subfile.Manifest{}, subfile.By{})
	},
	"subfile.Stale": func(_ context.Context, name string) error {
		return second(subfile.Stale(nil, name, &subfile.Manifest{}, nil))
	},
	"subfile.State.Known": func(_ context.Context, name string) error {
		return second((&subfile.State{Pending: true}).Known(nil, name))
	},
	"subfile.WriteNext": func(_ context.Context, name string) error {
		return subfile.WriteNext(nil, name, &subfile.Manifest{}, true, subfile.By{})
	},

	"versioned.IsArray":        func(_ context.Context, name string) error { versioned.IsArray(name, nil); return nil },
	"versioned.List":           func(_ context.Context, name string) error { return second(versioned.List(name, nil)) },
	"versioned.Stamp":          func(_ context.Context, name string) error { _, _, err := versioned.Stamp(name, nil); return err },
	"versioned.ViewOptions":    func(_ context.Context, name string) error { return second(versioned.OpenView(name, nil)) },
	"versioned.RebuildOptions": nil, // its own tests
	"versioned.Store":          nil, // its own tests
	"levels.Options":           nil, // its own tests

	"ffstore.CheckOptions":   func(ctx context.Context, name string) error { return finding(ffstore.Check(ctx, name, nil)) },
	"ffstore.IsStore":        func(_ context.Context, name string) error { ffstore.IsStore(name, nil); return nil },
	"ffstore.OpenView":       func(_ context.Context, name string) error { return second(ffstore.OpenView(name, nil)) },
	"ffstore.Options":        nil, // its own tests
	"ffstore.RebuildOptions": nil, // its own tests

	"cello.OpenOptions": func(ctx context.Context, name string) error {
		return second(cello.Open(ctx, name, &cello.OpenOptions{}))
	},
	"cello.Options":   nil, // its own tests
	"cello.Stamp":     func(_ context.Context, name string) error { _, _, err := cello.Stamp(name, nil); return err },
	"cello.YTOptions": nil, // its own tests

	"ffformat.Compact": func(ctx context.Context, _ string) error {
		return second(ffformat.Compact(ctx, &ffformat.Reader{}, nil, &ffformat.ConvertOptions{}))
	},
	"ffformat.Convert": func(ctx context.Context, _ string) error {
		return second(ffformat.Convert(ctx, &ffformat.Reader{}, nil, &ffformat.ConvertOptions{}))
	},
	"ffformat.Repair": func(ctx context.Context, name string) error {
		return second(ffformat.Repair(ctx, bytes.NewReader(nil), 0, name, nil, nil))
	},
	"ffformat.Writer.Begin": func(context.Context, string) error {
		return second((&ffformat.Writer{}).Begin(nil, ffformat.UpdateOptions{}))
	},
	"ffformat.Writer.Twin": nil, // nil is no file to write
}

func second[T any](_ T, err error) error { return err }

func finding[F any](all func(func(F) bool)) error {
	for range all {
		return errors.New("something is wrong")
	}
	return nil
}

// TestNilFileSystem: whoever takes a file system takes nil as the operating system's, and without a file there is an error.
func TestNilFileSystem(t *testing.T) {
	for name, call := range nilFS {
		if call == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if err := call(t.Context(), filepath.Join(t.TempDir(), "absent")); err != nil {
				t.Log(err)
			}
		})
	}
	takes := func(list *ast.FieldList, fields bool) bool {
		for _, f := range list.List {
			s, ok := f.Type.(*ast.SelectorExpr)
			if !ok || len(f.Names) == 0 || fields && !f.Names[0].IsExported() {
				continue
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "vfs" && (s.Sel.Name == "FS" || s.Sel.Name == "File") {
				return true
			}
		}
		return false
	}
	for dir, files := range publicPackages(t) {
		if dir == "vfs" {
			continue
		}
		for _, d := range exported(files) {
			found := false
			switch x := d.decl.(type) {
			case *ast.FuncDecl:
				found = takes(x.Type.Params, false)
			case *ast.TypeSpec:
				s, ok := x.Type.(*ast.StructType)
				found = ok && takes(s.Fields, true)
			}
			if _, known := nilFS[filepath.Base(dir)+"."+d.name]; found && !known {
				t.Errorf("%s: %s takes a file system or has one: add it to nilFS", dir, d.name)
			}
		}
	}
}
