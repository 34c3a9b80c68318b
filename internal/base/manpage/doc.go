// Package manpage writes manual pages in the macros of man(7) from texts for a terminal: of the help of commands, of the
// comments of headers.
package manpage
