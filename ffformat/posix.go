package ffformat

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// PosixFile is a checkpoint file of FTI's POSIX mode (ckpt_io = 1, its default). It holds only the bytes of the variables, one
// after the other. The metadata are in another file, one for each group of ranks: META/<id>/l<level>/sector<n>-group<n>.fti.
type PosixFile struct {
	Meta    string // path of the metadata file
	Section string // section of this file in Meta: the number of the rank in its group
	Name    string // base name
	Size    int64
	Sum     string // MD5 of the file in hex; empty if unknown
	Vars    []PosixVar

	Copy   bool // a partner's copy (Pcof): all fields except Name describe the partner's file
	Parity bool // a parity file of level 3 (RSed), without variables

	group     []PosixFile // files of all ranks of the group, in group order
	at        int         // index in group
	maxSize   int64       // size of the largest file of the group, which is the size of parity files
	paritySum string      // MD5 of this rank's parity file; empty if unknown
	dirs      []string    // directories in which the group's files may be
}

// other returns the name of this rank's file of another kind: Rank, Pcof or RSed.
func (p *PosixFile) other(kind string) string {
	m := posixName.FindStringSubmatch(p.Name)
	if m == nil {
		return ""
	}
	return "Ckpt" + m[1] + "-" + kind + m[3] + ".fti"
}

type PosixVar struct {
	ID        int32
	Pos, Size int64 // bytes
	Name      string
}

// posixName matches the name of a rank's checkpoint file.
var posixName = regexp.MustCompile(`^Ckpt([0-9]+)-(Rank|Pcof|RSed)([0-9]+)\.fti$`)

// posixMeta matches the name of a group's metadata file.
var posixMeta = regexp.MustCompile(`^sector[0-9]+-group[0-9]+\.fti$`)

const (
	maxPosixMeta = 64 << 20
	maxPosixVars = 1 << 20
)

// iniSection is a section of an ini file. For each key it holds the value and the offset of its line.
type iniSection struct {
	file, name string
	values     map[string]string
	offsets    map[string]int64
}

func (s *iniSection) bad(key, format string, args ...any) error {
	return fault.At(s.file, s.offsets[key], "["+s.name+"] "+key, ErrCorrupt, format, args...)
}

// parseIni reads an ini file.
func parseIni(b []byte, file string) (sections []*iniSection, err error) {
	bad := func(off int64, field, format string, args ...any) ([]*iniSection, error) {
		return nil, fault.At(file, off, field, ErrCorrupt, format, args...)
	}
	var now *iniSection
	off := int64(0)
	if bytes.HasPrefix(b, []byte(vfs.ByteOrderMark)) {
		off = int64(len(vfs.ByteOrderMark))
	}
	for line := range bytes.Lines(b[off:]) {
		at := off
		off += int64(len(line))
		s := strings.TrimSpace(string(line))
		switch {
		case s == "" || s[0] == '#' || s[0] == ';':
			continue
		case s[0] == '[' && s[len(s)-1] == ']':
			name := strings.TrimSpace(s[1 : len(s)-1])
			if slices.ContainsFunc(sections, func(x *iniSection) bool { return x.name == name }) {
				return bad(at, "["+name+"]", "section is repeated")
			}
			now = &iniSection{file, name, map[string]string{}, map[string]int64{}}
			sections = append(sections, now)
			continue
		}
		key, text, ok := strings.Cut(s, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if !ok || now == nil || key == "" {
			return bad(at, "", "%.80q, want [section] or key = value", s)
		}
		if _, ok := now.values[key]; ok {
			return bad(at, key, "key is repeated")
		}
		now.values[key], now.offsets[key] = strings.Trim(strings.TrimSpace(text), `"`), at
	}
	return sections, nil
}

// number returns the value of a key, at least 0. If the key is absent, number returns none. If none is negative, it returns an
// error instead.
func (s *iniSection) number(key string, bits int, none int64) (int64, error) {
	text, ok := s.values[key]
	if !ok && none >= 0 {
		return none, nil
	}
	if !ok {
		return 0, fault.At(s.file, -1, "["+s.name+"] "+key, ErrMissing, "absent")
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || n < 0 {
		return 0, s.bad(key, "%.40q, want a number from 0 on", text)
	}
	return n, nil
}

// md5 returns the value of a key in lower case, or "" if the key is absent.
func (s *iniSection) md5(key string) (string, error) {
	text := strings.ToLower(s.values[key])
	if sum, err := hex.DecodeString(text); err != nil || len(sum) != md5.Size && len(sum) != 0 {
		return "", s.bad(key, "%.80q, want 32 hexadecimal digits", text)
	}
	return text, nil
}

// parsePosix reads the metadata of a group, with a section for each rank. name is the file name for errors.
func parsePosix(b []byte, name string) ([]PosixFile, error) {
	sections, err := parseIni(b, name)
	if err != nil {
		return nil, err
	}
	var all []PosixFile
	for _, s := range sections {
		if _, err := strconv.ParseUint(s.name, 10, 31); err != nil {
			continue // this is not the section of a rank
		}
		f, err := s.posixFile()
		if err != nil {
			return nil, err
		}
		f.at = len(all)
		all = append(all, *f)
	}
	for i := range all {
		all[i].group = all
	}
	return all, nil
}

// posixFile makes the file of a rank from its section.
func (s *iniSection) posixFile() (*PosixFile, error) {
	f := &PosixFile{Meta: s.file, Section: s.name, Name: s.values["ckpt_file_name"]}
	if f.Name == "" || f.Name != filepath.Base(f.Name) {
		return nil, s.bad("ckpt_file_name", "%.80q, want the name of a file", f.Name)
	}
	var errs [4]error
	f.Size, errs[0] = s.number("ckpt_file_size", 64, -1)
	f.Sum, errs[1] = s.md5("ckpt_checksum")
	f.maxSize, errs[2] = s.number("ckpt_file_maxs", 64, 0)
	f.paritySum, errs[3] = s.md5("rsed_checksum")
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	next := int64(0)
	seen := map[int64]bool{}
	for k := range maxPosixVars {
		key := "var" + strconv.Itoa(k)
		if _, ok := s.values[key+"_id"]; !ok {
			break
		}
		id, err := s.number(key+"_id", 32, -1)
		if err != nil {
			return nil, err
		}
		v := PosixVar{ID: int32(id), Name: s.values[key+"_idchar"] + s.values[key+"_name"]}
		if v.Size, err = s.number(key+"_size", 64, -1); err != nil {
			return nil, err
		}
		if v.Pos, err = s.number(key+"_pos", 64, next); err != nil { // older versions of FTI do not store the position
			return nil, err
		}
		if seen[id] {
			return nil, s.bad(key+"_id", "variable %d is repeated", id)
		}
		if v.Size > f.Size || v.Pos > f.Size-v.Size {
			return nil, s.bad(key+"_size", "%d bytes from byte %d exceed the file of %d bytes", v.Size, v.Pos, f.Size)
		}
		seen[id] = true
		next = v.Pos + v.Size
		f.Vars = append(f.Vars, v)
	}
	return f, nil
}

// near lists the directories in which FTI may have files of the same run and level as file. They are the file's own directory and
// directories below the parents of this directory, for example Local/node3/<id>/l2 and Meta/<id>/l2.
func near(file string) ([]string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	level := filepath.Dir(abs)
	run := filepath.Dir(level)
	dirs := []string{level}
	for up, n := filepath.Dir(run), 0; n < 4 && up != filepath.Dir(up); up, n = filepath.Dir(up), n+1 {
		list, err := os.ReadDir(up)
		if err != nil {
			continue // skip unreadable directories
		}
		for _, x := range list {
			if x.IsDir() {
				dirs = append(dirs, filepath.Join(up, x.Name(), filepath.Base(run), filepath.Base(level)))
			}
		}
	}
	return dirs, nil
}

// FindPosix finds the metadata of a checkpoint file, a partner's copy or a parity file. The file itself may be absent. FindPosix
// looks in the directory of the file and in FTI's usual directories. It finds the metadata only if the directories of the run
// (ckpt_dir, glbl_dir, meta_dir) are near each other. It returns nil if there are no metadata, and an error if metadata of the
// same level and run are unreadable.
func FindPosix(file string) (*PosixFile, error) {
	base := filepath.Base(file)
	m := posixName.FindStringSubmatch(base)
	if m == nil {
		return nil, nil
	}
	dirs, err := near(file)
	if err != nil {
		return nil, err
	}
	own := "Ckpt" + m[1] + "-Rank" + m[3] + ".fti"
	var failed error
	for _, dir := range dirs {
		list, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, x := range list {
			if !posixMeta.MatchString(x.Name()) || !x.Type().IsRegular() {
				continue
			}
			name := filepath.Join(dir, x.Name())
			b, err := vfs.ReadFile(vfs.OS, name, maxPosixMeta)
			var all []PosixFile
			if err == nil {
				all, err = parsePosix(b, name)
			}
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			i := slices.IndexFunc(all, func(p PosixFile) bool { return p.Name == own })
			if i < 0 {
				continue
			}
			p := all[i]
			p.dirs = dirs
			switch m[2] {
			case "Pcof": // in a ring, each rank keeps a copy of the file of the rank before it
				p = all[(i+len(all)-1)%len(all)]
				p.dirs, p.Copy = dirs, true
			case "RSed":
				p.Parity, p.Vars, p.Size, p.Sum = true, nil, p.maxSize, p.paritySum
			}
			p.Name = base
			return &p, nil
		}
	}
	return nil, failed
}

// Check compares a file with its metadata. If quick is true, it compares only the size. name is the file name in findings. The
// returned error is always an error of ctx.
func (p *PosixFile) Check(ctx context.Context, r io.ReaderAt, size int64, name string, quick bool) (list []Finding, err error) {
	if size != p.Size {
		list = append(list, findingOf(Error, name, fault.At(name, -1, "size", sizeClass(size, p.Size), "%d bytes, want %d as in %s", size, p.Size, p.Meta)))
		return list, nil
	}
	vars := slices.Clone(p.Vars)
	slices.SortStableFunc(vars, func(a, b PosixVar) int { return int(min(max(a.Pos-b.Pos, -1), 1)) })
	next := int64(0)
	for _, v := range vars {
		if v.Pos < next && v.Size > 0 {
			list = append(list, findingOf(Error, p.Meta, &varError{v.ID, fault.At(p.Meta, -1, "["+p.Section+"] position", ErrCorrupt, "%d, another variable ends at %d", v.Pos, next)}))
		}
		next = max(next, v.Pos+v.Size)
	}
	switch {
	case quick:
		return list, nil
	case p.Sum == "":
		return append(list, Finding{Severity: fault.Note, File: p.Meta, Offset: -1, Field: "[" + p.Section + "] ckpt_checksum", Msg: "checksum is missing, so the data were not verified"}), nil
	}
	d, err := md5Of(ctx, r, 0, size)
	switch sum := hex.EncodeToString(d[:]); {
	case ctx.Err() != nil:
		return list, ctx.Err()
	case err != nil:
		list = append(list, findingOf(Error, name, err))
	case sum != p.Sum:
		list = append(list, findingOf(Error, name, fault.At(name, -1, "MD5 of the file", ErrChecksum, "%s, want %s as in %s", sum, p.Sum, p.Meta)))
	}
	return list, nil
}

func sizeClass(have, want int64) error {
	if have < want {
		return ErrTruncated
	}
	return ErrCorrupt
}
