package main

import (
	"fmt"
	"regexp"
	"strings"

	"blobio/internal/base/manpage"
)

// family is a titled part of a header.
type family struct {
	header string
	title  string // title in the header; "" for the top of the header
	blocks []block
}

// block is a comment with the declarations that follow it.
type block struct{ comment, code string }

// api matches the macro that precedes each function.
var api = regexp.MustCompile(`^(\s*)(?:BLOBIO|PIO|SCR|FTI)_API `)

// pageOf gives, for each header and title, the name of the page and its NAME
// line.
var pageOf = map[string][2]string{
	"blobio.h/":        {"blobio", "parallel I/O in blob layouts, for C and C++"},
	"blobio.h/errors":  {"blobio_errors", "codes and texts of errors, and versions"},
	"blobio.h/words":   {"blobio_types", "types, layouts and special numbers"},
	"blobio.h/writing": {"blobio_writing", "make datasets and add records to them"},
	"blobio.h/reading": {"blobio_reading", "read datasets in canonical order"},
	"blobio.h/whole datasets, files to files": {"blobio_files", "convert and check whole datasets"},
	"blobio.h/stores of checkpoints":          {"blobio_stores", "checkpoints of all ranks in one directory"},
	"blobio.h/versioned arrays":               {"blobio_arrays", "arrays over all ranks whose states are kept"},
	"blobio_mpi.h/":                           {"blobio_mpi", "datasets of ranks that are MPI processes"},

	"scr.h/": {"blobio_scr", "the C API of SCR over blobio"},
	"fti.h/": {"blobio_fti", "the C API of FTI over blobio"},

	"pio.h/": {"blobio_pio", "PIO's C API over blobs"},
	"pio.h/constants, with netCDF's values where netCDF has the same names": {"blobio_pio_constants", "types, codes and modes of PIO"},
	"pio.h/I/O systems":                         {"blobio_pio_systems", "ranks that call PIO together"},
	"pio.h/decompositions":                      {"blobio_pio_decompositions", "which elements of an array each rank has"},
	"pio.h/files":                               {"blobio_pio_files", "create, open, close and inquire files"},
	"pio.h/dimensions":                          {"blobio_pio_dimensions", "define and inquire dimensions"},
	"pio.h/variables":                           {"blobio_pio_variables", "define and inquire variables"},
	"pio.h/attributes":                          {"blobio_pio_attributes", "write, read and inquire attributes"},
	"pio.h/decomposed data":                     {"blobio_pio_darrays", "read distributed arrays, and choose the record"},
	"pio.h/maps in text files and netCDF files": {"blobio_pio_maps", "write and read decompositions"},
	"pio.h/where the two libraries differ":      {"blobio_pio_differences", "functions that have two forms, and versions"},
	"pio.h/data that are not decomposed: in the variable's type, or in a type of memory": {"blobio_pio_data", "write and read parts of variables"},
}

var (
	heading  = regexp.MustCompile(`^/\* -{3,} (.*) \*/$`)
	function = regexp.MustCompile(`(?m)^\w+ (?:[a-z]\w* )*\*?((?:blobio_|PIOc_|nc_|SCR_|FTI_)\w+)\(`)
	notCode  = regexp.MustCompile(`^(#ifndef|#endif|#define (?:PIO_API|_PIO_H_|SCR_API|SCR_PRINTF|FTI_API|FTI_INCLUDE_FTI_H_)|#include|#if|#else|#ifdef|extern "C"|}$)`)
)

// parse splits a header into its families.
func parse(header, text string) ([]*family, error) {
	at := &family{header: header}
	all := []*family{at}
	lines := strings.Split(text, "\n")
	ended := false // an empty line has ended the block
	indent := ""   // indentation of lines that continue a declaration
	for i := 0; i < len(lines); i++ {
		l := strings.TrimRight(lines[i], " ")
		if m := heading.FindStringSubmatch(l); m != nil {
			at = &family{header: header, title: m[1]}
			all = append(all, at)
			continue
		}
		if strings.HasPrefix(l, "/*") {
			var c []string
			for ; ; i++ {
				if i == len(lines) {
					return nil, fmt.Errorf("a comment does not end")
				}
				c = append(c, lines[i])
				if strings.HasSuffix(strings.TrimRight(lines[i], " "), "*/") {
					break
				}
			}
			at.blocks, ended = append(at.blocks, block{comment: strings.TrimPrefix(uncomment(c), header+": ")}), false
			continue
		}
		if l == "" {
			ended = true
			continue
		}
		if notCode.MatchString(l) {
			continue
		}
		if len(at.blocks) == 0 || ended && at.blocks[len(at.blocks)-1].code != "" && !strings.HasPrefix(l, "\t") {
			at.blocks = append(at.blocks, block{})
		}
		ended = false
		b := &at.blocks[len(at.blocks)-1]
		declared := api.ReplaceAllString(l, "$1")
		if width := len(l) - len(declared); width > 0 {
			indent = strings.Repeat(" ", width)
		}
		b.code += strings.TrimPrefix(declared, indent) + "\n"
	}
	for _, f := range all {
		if _, ok := pageOf[f.key()]; !ok {
			return nil, fmt.Errorf("no manual page for the part %q", f.title)
		}
	}
	return all, nil
}

// uncomment returns the text of a comment. Indented lines keep their
// indentation.
func uncomment(lines []string) string {
	for i, l := range lines {
		l = strings.TrimSuffix(strings.TrimRight(l, " "), "*/")
		for _, mark := range []string{"/* ", " * ", " *", "/*"} {
			if rest, ok := strings.CutPrefix(l, mark); ok {
				l = rest
				break
			}
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func (f *family) key() string { return f.header + "/" + f.title }

// name returns the name of the family's page.
func (f *family) name() string { return pageOf[f.key()][0] }

// functions returns the names of the functions that the family declares.
func (f *family) functions() (names []string) {
	for _, b := range f.blocks {
		for _, m := range function.FindAllStringSubmatch(b.code, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// page returns the manual page of a family. all has the families of the same
// header.
func (f *family) page(all []*family) *manpage.Page {
	name := pageOf[f.key()]
	p := manpage.New(name[0], 3, name[1], append([]string{name[0]}, f.functions()...)...)
	p.Head("SYNOPSIS")
	p.Lines(true, "#include <"+f.header+">", "", "cc ... $(pkg-config --cflags --libs "+pageOf[f.header+"/"][0]+")")
	p.Head("DESCRIPTION")
	for i, b := range f.blocks {
		if i > 0 {
			p.Paragraph()
		}
		if b.code == "" {
			p.Text(b.comment)
			continue
		}
		p.Lines(true, strings.Split(strings.TrimSuffix(b.code, "\n"), "\n")...)
		if b.comment != "" {
			p.Indented(b.comment)
		}
	}
	also := []string{}
	if f.header == "blobio_mpi.h" {
		also = append(also, pageOf["blobio.h/"][0])
	}
	for _, g := range all {
		if g != f {
			also = append(also, g.name())
		}
	}
	p.SeeAlso(also...)
	return p
}
