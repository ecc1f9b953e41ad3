"use strict";

/** An element; strings among its children become text nodes, so nothing served is ever read as markup. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const nameOf = (reference) => reference.split("/").pop();

/** A schema in words, as nodes: models are links to their description below. */
function typeOf(schema) {
  if (schema.$ref) return [make("a", { href: `#schema-${nameOf(schema.$ref)}` }, nameOf(schema.$ref))];
  const either = schema.anyOf || schema.oneOf;
  if (either) return either.flatMap((part, index) => (index ? [" or ", ...typeOf(part)] : typeOf(part)));
  if (schema.enum) return [schema.enum.map((value) => JSON.stringify(value)).join(" or ")];
  if (schema.type === "array") return ["list of ", ...typeOf(schema.items || {})];
  const bounds = "minimum" in schema && "maximum" in schema ? ` ${schema.minimum}..${schema.maximum}` : "";
  return [(schema.type || "any") + bounds];
}

/** A value to start from: what is required, with the examples that the schema gives. */
function exampleOf(schema, schemas) {
  if (schema.$ref) return exampleOf(schemas[nameOf(schema.$ref)], schemas);
  if (schema.oneOf || schema.anyOf) return exampleOf((schema.oneOf || schema.anyOf)[0], schemas);
  if (schema.examples) return schema.examples[0];
  if (schema.type === "array") return [exampleOf(schema.items, schemas)];
  if (schema.type !== "object") return { integer: 0, number: 0, boolean: false }[schema.type] ?? "";
  return Object.fromEntries((schema.required || []).map((name) => [name, exampleOf(schema.properties[name], schemas)]));
}

function described(name, schema, notes, text) {
  return make("li", {}, make("code", {}, name), " (", ...typeOf(schema), notes, ")", text ? `: ${text}` : "");
}

function describedSchema(name, schema) {
  const required = schema.required || [];
  const fields = Object.entries(schema.properties || {}).map(([field, found]) =>
    described(field, found, required.includes(field) ? ", required" : "", found.description));
  return make("details", { id: `schema-${name}` }, make("summary", {}, make("b", {}, name)),
    make("p", {}, schema.description || ""), make("ul", {}, ...fields));
}

/** The inputs for a body: a text for JSON, one input a field for a form. */
function bodyInputs(operation, schemas) {
  const content = operation.requestBody?.content || {};
  const [kind] = Object.keys(content);
  if (!kind) return { inputs: [], read: () => ({}) };
  if (kind !== "multipart/form-data") {
    const area = make("textarea", { "aria-label": "body", spellcheck: "false" });
    area.value = JSON.stringify(exampleOf(content[kind].schema, schemas), null, 2);
    return { inputs: [area], read: () => ({ body: area.value, headers: { "Content-Type": kind } }) };
  }
  const fields = Object.entries(schemas[nameOf(content[kind].schema.$ref)].properties).map(([name, schema]) =>
    [name, make("input", schema.type === "array" ? { type: "file", multiple: "" } : { type: "text" })]);
  const read = () => {
    const form = new FormData();
    for (const [name, input] of fields)
      for (const value of input.files || (input.value ? [input.value] : [])) form.append(name, value);
    return { body: form };
  };
  return { inputs: fields.map(([name, input]) => make("label", {}, name, input)), read };
}

/** Where a request goes: path parameters percent-encoded, and only the parameters that were filled in. */
function addressed(path, fields) {
  const query = new URLSearchParams();
  const headers = {};
  let address = path.slice(1); // relative, so that the page also works under a prefix
  for (const [parameter, input] of fields) {
    if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, () => encodeURIComponent(input.value));
    else if (input.value && parameter.in === "header") headers[parameter.name] = input.value;
    else if (input.value) query.set(parameter.name, input.value);
  }
  return { address: query.size ? `${address}?${query}` : address, headers };
}

async function told(response) {
  const text = await response.text();
  const isJson = (response.headers.get("Content-Type") || "").includes("json");
  return `${response.status} ${response.statusText}\n\n${isJson ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
}

function tryIt(method, path, operation, schemas) {
  const fields = (operation.parameters || []).map((parameter) => [parameter, make("input", { type: "text" })]);
  const { inputs, read } = bodyInputs(operation, schemas);
  const output = make("pre", { hidden: "" });
  const form = make("form", {}, ...fields.map(([parameter, input]) => make("label", {}, parameter.name, input)),
    ...inputs, make("button", {}, `Send ${method.toUpperCase()}`), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = "…";
    const { address, headers } = addressed(path, fields);
    const { body, headers: more } = read();
    try {
      output.textContent = await told(await fetch(address, { method: method.toUpperCase(), body, headers: { ...headers, ...more } }));
    } catch (error) {
      output.textContent = `The server did not answer: ${error.message}`;
    }
  });
  return form;
}

function describedOperation(method, path, operation, schemas) {
  const parameters = (operation.parameters || []).map((one) => described(one.name, one.schema, `, ${one.in}`, one.description));
  const bodies = Object.entries(operation.requestBody?.content || {}).map(([kind, one]) => described("body", one.schema, `, ${kind}`));
  const answers = Object.entries(operation.responses).map(([status, one]) => {
    const schema = Object.values(one.content || {})[0]?.schema || {};
    return described(status, schema, "", one.description);
  });
  return make("details", {},
    make("summary", {}, make("b", {}, `${method.toUpperCase()} ${path} `), make("span", {}, operation.summary || "")),
    make("p", {}, operation.description || ""), make("ul", {}, ...parameters, ...bodies),
    make("h3", {}, "Responses"), make("ul", {}, ...answers),
    make("h3", {}, "Try it"), tryIt(method, path, operation, schemas));
}

/** A link to a schema opens it. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target) target.open = true;
}

async function start() {
  const about = document.getElementById("about");
  try {
    const api = await (await fetch("openapi.json")).json();
    const schemas = api.components.schemas;
    const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => describedOperation(method, path, operation, schemas)));
    document.getElementById("operations").append(...operations);
    document.getElementById("schemas").append(...Object.entries(schemas).map(([name, schema]) => describedSchema(name, schema)));
    about.textContent = `${api.info.description} Version ${api.info.version}.`;
    addEventListener("hashchange", openTarget);
    openTarget();
  } catch (error) {
    about.textContent = `openapi.json cannot be read: ${error.message}`;
  }
}

start();
