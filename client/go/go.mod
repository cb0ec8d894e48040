module holdfast

go 1.21
