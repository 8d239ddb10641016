//! Functions and structs: how long, how many parameters, how many fields.
//!
//! Takes files, gives every function and struct with its place. Prevents: a count by lines that look like a function.

use crate::source::{SourceFile, is_test};
use syn::spanned::Spanned;
use syn::visit::Visit;

/// A function with a body.
pub(crate) struct Function {
    file: String,
    line: usize,
    name: String,
    /// Of the body.
    pub(crate) lines: usize,
    /// `self` among them.
    pub(crate) parameters: usize,
}

/// A struct with named fields.
pub(crate) struct Fields {
    file: String,
    line: usize,
    name: String,
    pub(crate) fields: usize,
}

impl Function {
    pub(crate) fn place(&self) -> String {
        let (lines, parameters) = (self.lines, self.parameters);
        format!(
            "{}:{}: {}: {lines} lines, {parameters} parameters",
            self.file, self.line, self.name
        )
    }
}

impl Fields {
    pub(crate) fn place(&self) -> String {
        format!("{}:{}: {}: {} fields", self.file, self.line, self.name, self.fields)
    }
}

/// All that was found.
#[derive(Default)]
pub(crate) struct Shapes {
    file: String,
    pub(crate) functions: Vec<Function>,
    pub(crate) structs: Vec<Fields>,
}

impl Shapes {
    /// Adds what a file holds.
    pub(crate) fn read(&mut self, file: &SourceFile) {
        self.file.clone_from(&file.name);
        for item in &file.items {
            self.visit_item(item);
        }
    }

    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let (from, to) = (body.span().start().line, body.span().end().line);
        self.functions.push(Function {
            file: self.file.clone(),
            line: signature.ident.span().start().line,
            name: signature.ident.to_string(),
            lines: to - from + 1,
            parameters: signature.inputs.len(),
        });
    }
}

impl<'ast> Visit<'ast> for Shapes {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if let syn::Fields::Named(fields) = &item.fields {
            self.structs.push(Fields {
                file: self.file.clone(),
                line: item.ident.span().start().line,
                name: item.ident.to_string(),
                fields: fields.named.len(),
            });
        }
    }
}
