package fti

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

// jsonText returns s as a JSON string.
func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // cannot fail for strings
		return `""`
	}
	return string(b)
}

// ffExtracted describes a variable that was extracted or failed.
type ffExtracted struct {
	Var   int32  `json:"variable"`
	Bytes int64  `json:"bytes"`
	File  string `json:"file,omitempty"`
	Error string `json:"error,omitempty"`
}

// extract writes the bytes of variables to files.
func (f *ffDumpFlags) extract(ctx context.Context, e *cli.Env, path string) error {
	file, r, err := openFFReader(ctx, path, true)
	if err != nil {
		return err
	}
	defer file.Close()
	if d := file.bad; d != nil && file.posix != nil {
		return damaged(e, fmt.Errorf("no variable was written, because all variables share one damaged checksum: %w", d))
	} else if d != nil { // the damage may affect the ids of variables
		fmt.Fprintf(e.Stderr, "blobio: warning: %s\n", cli.ErrorText(d))
		e.Code = cli.Findings
	}
	ids, err := ffVars(f.vars, r.File())
	if err != nil {
		return err
	}
	vars := r.File().Vars()
	if len(ids) == 0 {
		for _, v := range vars {
			ids = append(ids, v.ID)
		}
	}
	if len(ids) == 0 {
		return fmt.Errorf("%s has no variables", path)
	}
	name := func(id int32) string { return filepath.Join(f.out, fmt.Sprintf("var%d.raw", id)) }
	var total int64
	for _, id := range ids {
		if err := durable.Free(vfs.OS, name(id), f.force); err != nil { // before any output is written
			return err
		}
		if n, err := r.VarSize(id); err == nil {
			total += n
		}
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return err
	}
	p := e.NewProgress()
	defer p.End()
	var done int64
	out := []ffExtracted{}
	for _, id := range ids {
		x := ffExtracted{Var: id, File: name(id)}
		x.Bytes, err = f.one(ctx, r, id, x.File, func(n int64) {
			done += n
			p.At("extract", done, total)
		})
		if err != nil {
			if len(ffformat.BadVars(err)) == 0 { // an error of the disk, not of the variable
				return err
			}
			x.File, x.Error = "", cli.ErrorText(err)
			e.Code = cli.Findings
		}
		out = append(out, x)
	}
	p.End()
	return f.written(e, path, out)
}

func (f *ffDumpFlags) written(e *cli.Env, path string, out []ffExtracted) error {
	if f.asJSON {
		return e.PrintJSON(map[string]any{"path": path, "variables": out})
	}
	for _, x := range out {
		if x.Error != "" {
			fmt.Fprintf(e.Out, "not written: %s\n", x.Error)
			continue
		}
		fmt.Fprintf(e.Out, "%s: variable %d, %d bytes\n", x.File, x.Var, x.Bytes)
	}
	return nil
}

func (f *ffDumpFlags) one(ctx context.Context, r *ffformat.Reader, id int32, name string, count func(int64)) (int64, error) {
	return cli.WriteFile(ctx, name, f.force, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		if err := r.CopyVar(ctx, id, writeCounter{b, count}); err != nil {
			return err
		}
		return b.Flush()
	})
}

// writeCounter is a writer that calls count with the number of bytes of each write.
type writeCounter struct {
	w     io.Writer
	count func(int64)
}

func (c writeCounter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.count(int64(n))
	return n, err
}
