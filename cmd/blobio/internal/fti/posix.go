package fti

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

// posixOf returns FTI's metadata for a file of the POSIX mode. err is the error of reading the file as FTI-FF. posixOf
// returns err if it finds no metadata, or if err is not ErrNotFormat.
func posixOf(path string, err error) (*ffformat.PosixFile, error) {
	if !errors.Is(err, ffformat.ErrNotFormat) {
		return nil, err
	}
	p, perr := ffformat.FindPosix(path)
	if perr == nil && p == nil {
		perr = err
	}
	return p, perr
}

// describePosix describes a file of FTI's POSIX mode for ls.
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
	what := ""
	switch {
	case d.posix.Copy:
		what = ", a partner's copy"
	case d.posix.Parity:
		what = ", parity of level 3"
	}
	fmt.Fprintf(e.Out, "%s: FTI POSIX mode (%s)%s, checkpoint %d, %s\nstate: %s\nmetadata: %s [%s]\n\n", d.Path, d.FTI, what, d.Checkpoint, cli.HumanBytes(d.Bytes), d.state(),
		d.posix.Meta, d.posix.Section)
	t := e.NewTable("", ">VARIABLE", ">IN FILE", ">SIZE", "NAME")
	for _, v := range d.posix.Vars {
		t.Row(v.ID, v.Pos, cli.HumanBytes(v.Size), strconv.Quote(v.Name))
	}
	t.Flush()
	return nil
}

// lostOf finds files of FTI's POSIX mode that should be near the checked files but are missing. The findings are about the
// metadata that list the missing files.
func lostOf(files []string) (list []*ffChecked) {
	seen := map[string]bool{}
	for _, file := range files {
		p, err := ffformat.FindPosix(file)
		if err != nil || p == nil || seen[p.Meta] {
			continue // the check of the file reports the error
		}
		seen[p.Meta] = true
		names, gone := p.Missing()
		if len(names) == 0 {
			continue
		}
		sev, where := fault.Warning, "file not found: it is lost, or on the disk of another node"
		if gone {
			sev, where = ffformat.Error, "file is lost (blobio ff repair restores it from the copy of its partner or from parity, if these are near)"
		}
		c := &ffChecked{Path: p.Meta}
		for _, name := range names {
			c.Add(ffformat.Finding{Severity: sev, File: p.Meta, Offset: -1, Field: "ckpt_file_name", Msg: name + ": " + where, Err: ffformat.ErrMissing})
		}
		list = append(list, c)
	}
	return list
}

// rebuildPosix rebuilds a lost or damaged file from the data of its group. ok is false for other kinds of files.
func (f *ffRepairFlags) rebuildPosix(ctx context.Context, e *cli.Env, in, out string) (ok bool, err error) {
	file, ferr := openFF(in)
	if ferr == nil {
		defer file.Close()
		_, ferr = file.reader(true)
	}
	if ferr == nil || !errors.Is(ferr, ffformat.ErrNotFormat) && !errors.Is(ferr, os.ErrNotExist) {
		return false, nil
	}
	p, err := ffformat.FindPosix(in)
	if p == nil || err != nil {
		return err != nil, err
	}
	if file != nil {
		list, err := p.Check(ctx, file, file.size, in, false)
		if err != nil {
			return true, err
		}
		bad := 0
		for _, x := range list {
			bad += bit(x.Severity >= ffformat.Error)
		}
		if bad == 0 {
			return true, f.report(e, in, out, &ffformat.RepairReport{Sound: true})
		}
		if !f.dry && sameFile(in, out) {
			return true, cli.Usagef("input and output are the same file %s, but repair does not change the input", in)
		}
	}
	rep := &ffformat.RepairReport{}
	write := func(dst vfs.File) (bool, error) {
		from, err := p.Rebuild(ctx, dst)
		if err != nil {
			return false, err
		}
		rep.Actions = append(rep.Actions, ffformat.Finding{Offset: -1, Msg: "restored from " + from})
		for _, v := range p.Vars {
			rep.Good = append(rep.Good, v.ID)
		}
		return true, nil
	}
	if f.dry {
		err = inScratch(write)
	} else if err = cli.WriteOutput(ctx, vfs.OS, out, durable.OutputOptions{Force: f.force, NoSync: f.noSync}, write); err == nil {
		rep.File = &ffformat.File{Size: p.Size}
	}
	if err != nil {
		return true, err
	}
	return true, f.report(e, in, out, rep)
}

// inScratch calls f with a temporary file, which is removed afterwards.
func inScratch(f func(dst vfs.File) (bool, error)) error {
	dir, err := os.MkdirTemp("", "blobio")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dst, err := vfs.OS.Create(dir + "/file")
	if err != nil {
		return err
	}
	defer dst.Close()
	_, err = f(dst)
	return err
}
