module holdfast.example/holdfast

go 1.21
