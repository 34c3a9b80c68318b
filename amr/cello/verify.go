package cello

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
)

// VerifyOptions for Verify. nil means the defaults.
type VerifyOptions struct {
	// StructureOnly leaves the data unread: no checksums of them, no look at values.
	StructureOnly bool
	// ForRestart asks for what keeps the real program from restarting from a sound checkpoint, too, or makes it go wrong. Without it such
	// findings are no more than a note.
	ForRestart bool
	// With ForRestart, EnzoFloat is the width in the program that is to restart from it; default (0): the width
	// of the attributes.
	EnzoFloat amr.Type
	// With ForRestart, MaxLevel is the finest level of the run that is to restart from it; default (nil): the attribute max_level.
	MaxLevel *int
	// Progress is called with the bytes that were read to be summed up and looked at, often and by
	// several goroutines.
	Progress func(done, total int64)
	OpenOptions
}

// Verify looks for everything that is wrong with a checkpoint: files, lists, groups, attributes,
// datasets, the tree, checksums, values that no run leaves behind. It never stops at the first finding, only where nothing
// more can be read. It also finds faults that the real program does not check, and on which it hangs, crashes
// or runs wrong: Finding.Effect. Whether that program can restart from a sound checkpoint is another question: VerifyOptions.ForRestart.
func Verify(ctx context.Context, dir string, o *VerifyOptions) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		if o == nil {
			o = &VerifyOptions{}
		}
		v := &verifier{s: newScanner(dir, &o.OpenOptions), o: o, yield: yield}
		v.s.deep = true
		v.run(ctx)
		if err := v.s.pool.Close(); err != nil {
			v.add(warning, spot{}, err, "", "")
		}
	}
}

type verifier struct {
	s      *scanner
	o      *VerifyOptions
	k      *Checkpoint // as far as it could be made
	yield  func(Finding) bool
	stop   bool
	done   atomic.Int64 // bytes compared, of total
	total  int64
	survey *survey
	// partial: not all lists could be read, so which blocks there are is not known.
	partial bool
	unfit   int // findings that concern a restart only, and were not asked for
}

func (v *verifier) tell(f Finding) {
	if f.Severity >= Error && f.Err != nil {
		f.Severity = fault.Of(Error, "", f.Err).Severity // what this version cannot read may be sound
	}
	if !v.stop && !v.yield(f) {
		v.stop = true
	}
}

func (v *verifier) add(s fault.Severity, at spot, err error, effect, format string, args ...any) {
	v.tell(finding(s, at, err, effect, format, args...))
}

// fit is tell of what is right here, but not for a restart of the real program.
func (v *verifier) fit(f Finding) {
	if v.o.ForRestart {
		v.tell(f)
		return
	}
	v.unfit++
}

func (v *verifier) run(ctx context.Context) {
	s := v.s
	fatal := func(file string, err error, effect string) {
		f := fault.Of(Error, file, err)
		f.Effect = effect
		if file != "" {
			f.File = file // below the directory
		}
		v.tell(f)
	}
	err := s.fileList()
	if err == nil {
		err = s.lists(ctx, nil)
	}
	if err != nil {
		effect, file := aborts, cellodir.FileList
		if errors.Is(err, ErrNotCommitted) {
			effect, file = "ignores the file and reads the incomplete checkpoint", cellodir.Lock
		}
		fatal(file, err, effect)
		return
	}
	v.strays()
	s.loadManifest()
	if err := s.headers(ctx, nil); err != nil {
		fatal("", err, "")
		return
	}
	for _, f := range s.files {
		for _, d := range f.finds {
			v.tell(d)
		}
	}
	k := &Checkpoint{openFiles: newOpenFiles(s)}
	v.k = k
	if k.man, err = s.manifest(); err != nil {
		fatal(cellodir.Manifest, err, "ignores the file")
	} else if k.man == nil {
		v.add(note, spot{}, nil, "", "manifest is missing, so data cannot be verified")
	}
	if err := s.describe(k); err != nil {
		fatal("", err, "")
		return
	}
	if k.man != nil {
		s.spans(k.man)
		if k.man.Unverified {
			v.add(warning, spot{file: cellodir.Manifest, field: "unverified"}, nil, "does not know", "checkpoint was made from unverified data, so the checksums may cover damaged bytes")
		}
	}
	v.survey = newSurvey(&k.meta)
	v.roots()
	v.blocks()
	v.fields()
	if v.stop || ctx.Err() != nil {
		return
	}
	v.attributes(ctx)
	v.total = v.bytes()
	if k.man != nil && !v.stop {
		v.heads(ctx)
	}
	if !v.o.StructureOnly && !v.stop {
		v.data(ctx)
	}
	for _, f := range v.survey.findings() {
		v.tell(f)
	}
	if v.unfit > 0 {
		v.add(note, spot{}, nil, "", "Enzo-E cannot restart correctly from this checkpoint; --for-enzo-e lists the reasons")
	}
	if err := ctx.Err(); err != nil {
		fatal("", err, "")
	}
}

// strays notes files that no list names.
func (v *verifier) strays() {
	known := map[string]bool{cellodir.FileList: true, cellodir.Manifest: true}
	for _, f := range v.s.files {
		known[f.name+cellodir.ListSuffix], known[f.name+cellodir.DataSuffix] = true, true
	}
	l, err := v.s.fs.ReadDir(v.s.dir)
	if err != nil {
		v.add(warning, spot{}, err, "", "")
		return
	}
	var other []string
	for _, e := range l {
		if n := e.Name(); !known[n] && (strings.HasSuffix(n, cellodir.ListSuffix) || strings.HasSuffix(n, cellodir.DataSuffix)) {
			other = append(other, n)
		}
	}
	if len(other) > 0 {
		v.add(warning, spot{}, nil, "ignores them", "%d files are not listed in %s: %s", len(other), cellodir.FileList, some(other))
	}
}

// roots compares the attributes of "/" between files.
func (v *verifier) roots() {
	var first *scannedFile
	for _, f := range v.s.files {
		if !f.root.ok {
			continue
		}
		if first == nil {
			first = f
			continue
		}
		a, b := f.root, first.root
		a.extras, b.extras = nil, nil
		if fmt.Sprintf("%v", a) != fmt.Sprintf("%v", b) {
			v.add(warning, spot{file: f.name + cellodir.DataSuffix, field: "/"}, ErrCorrupt, "takes the values of the first file", "attributes %+v, but %+v in %s", a, b, first.name)
		}
	}
}

// fields checks what concerns all blocks alike.
func (v *verifier) fields() {
	k := v.k
	enzo := v.o.EnzoFloat
	if enzo == 0 {
		enzo = k.enzo
	}
	if enzo != k.enzo {
		v.fit(finding(Error, spot{field: "enzo_dt"}, ErrUnfit, runsWrong, "%v, the program has %v", k.enzo, enzo))
	}
	for _, d := range k.Unfit() {
		if d.Err == ErrScrambled {
			v.tell(d)
		} else if !k.Dump() {
			v.fit(d)
		}
	}
	for i := range k.meta.Fields {
		f := &k.meta.Fields[i]
		name := fieldPrefix + f.Name
		switch {
		case f.Type.Float() && f.Type != enzo:
			v.fit(finding(Error, spot{field: name}, ErrUnfit, runsWrong, "%v, but enzo_float is %v", f.Type, enzo))
		case !f.Type.Float():
			v.fit(finding(warning, spot{field: name}, nil, "has fields of floating-point types only", "%v", f.Type))
		}
	}
	for i := range k.meta.Particles {
		p := &k.meta.Particles[i]
		for j := range p.Attrs {
			if p.Attrs[j].Type == amr.Int16 {
				v.fit(finding(Error, spot{field: particleName(p, &p.Attrs[j])}, ErrUnfit, aborts, "type int16, which Enzo-E writes but cannot read"))
			}
		}
	}
}
