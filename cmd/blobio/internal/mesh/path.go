package mesh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"blobio/amr/cello"
	"blobio/blob"
	"blobio/internal/cli"
	"blobio/internal/durable"
	"blobio/internal/vfs"
	"blobio/subfile"
)

const celloList = "check.file_list"

// amrPath finds out what a path is: a checkpoint directory, or the name of a dataset.
func amrPath(ctx context.Context, path string) (name string, isCello bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := subfile.Find(vfs.OS, path); serr == nil {
			return path, false, nil // the base name of subfiles
		}
		if part := subfile.Partial(path); exists(part) {
			return "", false, unfinished(path, part)
		}
		if l, _ := durable.HiddenFiles(vfs.OS, path); len(l) > 0 {
			return "", false, unfinished(path, l[0])
		}
		return "", false, fmt.Errorf("%s: no file, directory or dataset of this name: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return "", false, err
	}
	if whole, is := strings.CutSuffix(path, subfile.Partial("")); is && info.IsDir() && cello.Writing(path) {
		return "", false, unfinished(whole, path)
	}
	if whole, is := durable.HiddenOf(filepath.Base(path)); is {
		return "", false, unfinished(filepath.Join(filepath.Dir(path), whole), path)
	}
	if !info.IsDir() {
		base := filepath.Base(path)
		dir := filepath.Dir(path)
		switch {
		case base == celloList:
			return dir, true, nil
		case strings.HasSuffix(base, ".block_list"), strings.HasSuffix(base, ".h5") && exists(filepath.Join(dir, celloList)):
			return "", false, cli.WithHint(fmt.Errorf("%s is one file of a checkpoint", path), "name the directory: "+dir)
		}
		return path, false, nil
	}
	if exists(filepath.Join(path, celloList)) {
		return path, true, nil
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return "", false, err
	}
	if len(list) == 0 {
		return "", false, fmt.Errorf("%s is an empty directory, want a checkpoint or a dataset of blocks", path)
	}
	if slices.ContainsFunc(list, isBlockList) {
		return "", false, cli.WithHint(fmt.Errorf("%s has block lists, but no %s", path, celloList), "its writer died early, or files were lost")
	}
	if sets, err := subfile.ListAll(vfs.OS, path); err == nil && len(sets) == 1 {
		r, err := blob.Open(ctx, sets[0].Base, &blob.OpenOptions{AllowMissing: true})
		if err == nil {
			r.Close()
		}
		if !errors.Is(err, blob.ErrNotFormat) {
			return sets[0].Base, false, nil
		}
	}
	var inside []string
	for _, d := range list {
		if d.IsDir() && exists(filepath.Join(path, d.Name(), celloList)) {
			inside = append(inside, filepath.Join(path, d.Name()))
		}
	}
	if len(inside) > 0 {
		return "", false, cli.WithHint(fmt.Errorf("%s is a directory of %s", path, cli.Plural(len(inside), "checkpoint")), "name one of them: "+strings.Join(inside[:min(3, len(inside))], ", "))
	}
	return "", false, cli.WithHint(fmt.Errorf("%s has no %s: it is no checkpoint directory", path, celloList), "blobio ls shows datasets of other kinds")
}

// unfinished says what part is, under which the checkpoint or dataset whole is being
// written, or was.
func unfinished(whole, part string) error {
	if info, err := os.Stat(part); err == nil && info.IsDir() && !cello.Writing(part) && exists(filepath.Join(part, celloList)) {
		return cli.WithHint(fmt.Errorf("%s does not exist, but %s does: it is complete and only lacks its new name", whole, part), fmt.Sprintf("mv %s %s", part, whole))
	}
	if w, err := blob.WriterOf(whole); err == nil && w != nil && w.State == "writing" {
		return cli.WithHint(fmt.Errorf("%s is half of %s, which is in use by %s", part, filepath.Base(whole), w.Holder), "wait until it is whole")
	}
	hint := fmt.Sprintf("remove it if no program writes it any more, or write %s again, which replaces it", whole)
	if exists(whole) {
		hint = fmt.Sprintf("%s is whole; remove %s if no program writes it any more", whole, part)
	}
	return cli.WithHint(fmt.Errorf("%s is half of %s: a program is writing it, or died before it was whole", part, filepath.Base(whole)), hint)
}
