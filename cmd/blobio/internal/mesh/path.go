package mesh

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"blobio/internal/amr/cellodir"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

const celloList = "check.file_list"

// amrPath returns the directory of a checkpoint.
func amrPath(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if part := subfile.Partial(path); exists(part) {
			return "", unfinished(path, part)
		}
		return "", fmt.Errorf("%s: no file, directory or dataset of this name: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return "", err
	}
	if whole, is := strings.CutSuffix(path, subfile.Partial("")); is && info.IsDir() && cellodir.Writing(path) {
		return "", unfinished(whole, path)
	}
	if !info.IsDir() {
		base := filepath.Base(path)
		dir := filepath.Dir(path)
		switch {
		case base == celloList:
			return dir, nil
		case strings.HasSuffix(base, ".block_list"), strings.HasSuffix(base, ".h5") && exists(filepath.Join(dir, celloList)):
			return "", cli.WithHint(fmt.Errorf("%s is one file of a checkpoint", path), "give its directory: "+dir)
		}
		return "", cli.WithHint(fmt.Errorf("%s is a file, want the directory of a checkpoint", path), "blobio ls shows datasets")
	}
	if exists(filepath.Join(path, celloList)) {
		return path, nil
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", fmt.Errorf("%s is an empty directory, want a checkpoint", path)
	}
	if slices.ContainsFunc(list, isBlockList) {
		return "", cli.WithHint(fmt.Errorf("%s has block lists, but no %s", path, celloList), "the writer died early, or files were lost")
	}
	var inside []string
	for _, d := range list {
		if d.IsDir() && exists(filepath.Join(path, d.Name(), celloList)) {
			inside = append(inside, filepath.Join(path, d.Name()))
		}
	}
	if len(inside) > 0 {
		return "", cli.WithHint(fmt.Errorf("%s is a directory of %s", path, cli.Plural(len(inside), "checkpoint")), "give one of the checkpoints: "+strings.Join(inside[:min(3, len(inside))], ", "))
	}
	return "", cli.WithHint(fmt.Errorf("%s is not a checkpoint directory: it has no %s", path, celloList), "blobio ls shows datasets of other kinds")
}

// unfinished returns an error that describes part, the unfinished output for the checkpoint whole.
func unfinished(whole, part string) error {
	if info, err := os.Stat(part); err == nil && info.IsDir() && !cellodir.Writing(part) && exists(filepath.Join(part, celloList)) {
		return cli.WithHint(fmt.Errorf("%s does not exist, but %s does: the checkpoint is complete, but was not renamed", whole, part), fmt.Sprintf("mv %s %s", part, whole))
	}
	hint := fmt.Sprintf("if no program is writing it, remove it, or write %s again to replace it", whole)
	if exists(whole) {
		hint = fmt.Sprintf("%s is complete; remove %s if no program is writing it", whole, part)
	}
	return cli.WithHint(fmt.Errorf("%s is an unfinished %s: a program is writing it, or died before the end", part, filepath.Base(whole)), hint)
}

// Knows reports whether a path is a Cello checkpoint, complete or not: its directory, or its list of files.
func Knows(path string) bool {
	if filepath.Base(path) == celloList {
		return exists(path)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return false
	}
	list, _ := os.ReadDir(path)
	return slices.ContainsFunc(list, isBlockList) || exists(filepath.Join(path, celloList)) || cellodir.Writing(path)
}

func isBlockList(d os.DirEntry) bool { return strings.HasSuffix(d.Name(), ".block_list") }
