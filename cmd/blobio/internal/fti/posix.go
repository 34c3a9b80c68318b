package fti

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"blobio/ffformat"
	"blobio/internal/cli"
	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// posixError says that a file is one of FTI's POSIX mode.
type posixError struct {
	path string
	p    *ffformat.PosixFile
}

func (e *posixError) Error() string {
	return fmt.Sprintf("%s: a file of FTI's POSIX mode (ckpt_io = 1), whose metadata are in %s: blobio ff ls, check and dump -o read it, other verbs want FTI-FF (ckpt_io = 3)",
		e.path, e.p.Meta)
}

// asPosix is a *posixError for a file that is none of FTI-FF if FTI's metadata tell of it, an error of those if they
// are damaged, and otherwise err.
func asPosix(path string, err error) error {
	if !errors.Is(err, ffformat.ErrNotFormat) {
		return err
	}
	p, perr := ffformat.FindPosix(path)
	switch {
	case perr != nil:
		return perr
	case p != nil:
		return &posixError{path, p}
	}
	return err
}

// describePosix describes a file for ls.
func describePosix(ctx context.Context, path string, p *ffformat.PosixFile) (*ffDesc, error) {
	d := &ffDesc{Path: path, Layout: "POSIX", FTI: "ckpt_io = 1", Hash: "md5", Bytes: fileSize(path), Vars: []ffVar{}, Blocks: []ffBlock{}, posix: p}
	var ckpt int32
	if _, err := fmt.Sscanf(p.Name, "Ckpt%d-", &ckpt); err == nil {
		d.Checkpoint = ckpt
	}
	for _, v := range p.Vars {
		d.Vars = append(d.Vars, ffVar{v.ID, v.Size, v.Size, 0})
		d.Content += v.Size
	}
	list, err := p.Check(ctx, nil, d.Bytes, path, true)
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		d.Errors += bit(x.Severity >= ffformat.Error)
	}
	d.FTICanRead = d.Errors == 0
	return d, nil
}

func (d *ffDesc) printPosix(e *cli.Env) error {
	fmt.Fprintf(e.Out, "%s: FTI POSIX mode (%s), checkpoint %d, %s\nstate: %s\nmetadata: %s [%s]\n\n", d.Path, d.FTI, d.Checkpoint, cli.HumanBytes(d.Bytes), d.state(),
		d.posix.Meta, d.posix.Section)
	t := e.NewTable("", ">VARIABLE", ">IN FILE", ">SIZE", "NAME")
	for _, v := range d.posix.Vars {
		t.Row(v.ID, v.Pos, cli.HumanBytes(v.Size), strconv.Quote(v.Name))
	}
	t.Flush()
	return nil
}

// extractPosix writes variables to files. One checksum is that of all of them: without it none is known to be good.
func (f *ffDumpFlags) extractPosix(ctx context.Context, e *cli.Env, path string, p *ffformat.PosixFile) error {
	file, err := openFF(path)
	if err != nil {
		return err
	}
	defer file.Close()
	list, err := p.Check(ctx, file, file.size, path, false)
	if err != nil {
		return err
	}
	for _, x := range list {
		if x.Severity >= ffformat.Error {
			return fmt.Errorf("%s: nothing is written: %s; a checksum for each variable there is not", path, x.Msg)
		}
		fmt.Fprintf(e.Stderr, "blobio: warning: %s: %s: %s\n", x.File, x.Field, x.Msg)
	}
	vars := p.Vars
	if len(f.vars) > 0 {
		vars = nil
	}
	for _, s := range f.vars {
		i := slices.IndexFunc(p.Vars, func(v ffformat.PosixVar) bool { return strconv.Itoa(int(v.ID)) == s })
		if i < 0 {
			return fmt.Errorf("no variable %s in %s", s, path)
		}
		vars = append(vars, p.Vars[i])
	}
	name := func(v ffformat.PosixVar) string { return filepath.Join(f.out, fmt.Sprintf("var%d.raw", v.ID)) }
	for _, v := range vars {
		if err := durable.Free(vfs.OS, name(v), f.force); err != nil { // before anything is written
			return err
		}
	}
	out := []ffExtracted{}
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return err
	}
	for _, v := range vars {
		name := name(v)
		n, err := cli.WriteFile(ctx, name, f.force, func(w io.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(file, v.Pos, v.Size))
			return err
		})
		if err != nil {
			return err
		}
		out = append(out, ffExtracted{Var: v.ID, Bytes: n, File: name})
	}
	return f.written(e, path, out)
}
