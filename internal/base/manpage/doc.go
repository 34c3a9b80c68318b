// Package manpage writes manual pages in the macros of man(7) from plain texts: the help of commands and the comments of headers.
package manpage
